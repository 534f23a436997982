// `npm test`: finds or starts the servers, says which, runs every test, and ends with the number of tests.
//   npm test -- [--down] [options and filters of `vitest run`]
//   --down   stops the servers it provisioned; otherwise they stay up, and the next run starts in a second
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findServers, preparePrivatePostgres } from './databases/src/find-servers.ts'
import { dropStaleDatabases } from './databases/src/fresh-database.ts'
import { takeDown } from './databases/src/local-provisioning.ts'
import { privatePostgresName, requiredServers } from './databases/src/required-servers.ts'
import { missingVariable } from './databases/src/server-table.ts'
import { countTests, type VitestReport } from './databases/src/test-count.ts'

// Nearly all of the time is spent waiting for leases to run out; more files at once on two cores would measure the machine instead. On the
// command line, since the projects do not take it from the root's configuration.
const workers = ['--maxWorkers=3']

const staleDatabaseMs = 6 * 3_600_000

const argv = process.argv.slice(2)
const down = argv.includes('--down')
const vitestArguments = argv.filter((argument) => argument !== '--down')

const required = requiredServers()
const servers = await findServers()
const privateObstacle = await preparePrivatePostgres()
const environment: Record<string, string> = {}
const absent: string[] = []

function skipped(name: string, reason: string): void {
  console.log(`SKIPPED ${name}: ${reason}`)
  environment[missingVariable(name)] = reason
  if (required.has(name)) absent.push(name)
}

for (const server of servers) {
  if (!server.available) { skipped(server.name, server.reason); continue }
  console.log(`${server.name.padEnd(22)} ${server.version}, ${new URL(server.url).host} (${server.source})`)
  environment[server.variable] = server.url
  if (server.source === 'local') await dropStaleDatabases(server.url, staleDatabaseMs)
}
if (privateObstacle === undefined) console.log(`${privatePostgresName.padEnd(22)} throw-away servers, started by the tests`)
else skipped(privatePostgresName, privateObstacle)

if (absent.length > 0) {
  console.error(`SCHED_TEST_REQUIRE names ${absent.join(', ')}, which ${absent.length === 1 ? 'is' : 'are'} missing: no test was run`)
  finish({ passed: 0, failed: absent.length, skipped: 0 }, 1)
} else {
  const folder = mkdtempSync(join(tmpdir(), 'sched-test-'))
  try {
    const reportFile = join(folder, 'report.json')
    const exit = await runVitest(reportFile)
    const counts = countTests(readReport(reportFile))
    if (counts.passed + counts.failed + counts.skipped === 0) console.error('no test was run')
    const good = exit === 0 && counts.failed === 0 && counts.passed > 0
    finish(counts, good ? 0 : exit || 1)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function finish(counts: { passed: number, failed: number, skipped: number }, exitCode: number): void {
  if (down && servers.some((server) => server.available && server.source === 'local')) takeDown()
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
  process.exitCode = exitCode
}

async function runVitest(reportFile: string): Promise<number> {
  const child = spawn('vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`, ...workers, ...vitestArguments],
    { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...environment }, shell: process.platform === 'win32' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => { child.kill(signal) })
  return await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => { resolve(signal === null ? code ?? 1 : 1) })
  })
}

function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport
  } catch (error) {
    console.error(`vitest left no readable report: ${(error as Error).message}`)
    return undefined
  }
}
