import { execFileSync, spawn } from 'node:child_process'
import { chownSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { tellGuardian } from './guardian.ts'
import { databasesHome, enterRoot, localObstacle } from './local-provisioning.ts'
import { freezeTree, killTree, signal, thawTree } from './process-tree.ts'
import { privatePostgresName, requiredServers } from './required-servers.ts'
import { missingVariable, type ServerName } from './server-table.ts'
import type { Unavailable } from './server.ts'

export type PostgresVersion = 'newest' | 'middle' | 'oldest'

/** fast: sessions are ended, clean; immediate: as after a crash, children included; kill: SIGKILL to every process at once. */
export type StopMode = 'fast' | 'immediate' | 'kill'

export interface PrivatePostgresOptions {
  readonly version?: PostgresVersion
  /** Settings as on the command line (`-c name=value`). */
  readonly settings?: Readonly<Record<string, string | number>>
}

/** A PostgreSQL that belongs to one test: killing or freezing it hurts no other. The URL stays the same over restarts. */
export interface PrivatePostgres extends AsyncDisposable {
  readonly available: true
  readonly url: string
  readonly port: number
  /** Its data and its log. */
  readonly folder: string
  readonly majorVersion: number
  start(): Promise<void>
  stop(mode?: StopMode): Promise<void>
  /** SIGSTOP to the postmaster and all its children. */
  freeze(): Promise<void>
  thaw(): void
  /** Stops it and removes its data. Idempotent; also done when the test process dies. */
  dispose(): Promise<void>
}

interface Kit { root: string, binaries: string, version: number, password: string }

const templates: Record<PostgresVersion, ServerName> = { newest: 'postgres', middle: 'postgres-middle', oldest: 'postgres-oldest' }
const stopSignals: Record<Exclude<StopMode, 'kill'>, NodeJS.Signals> = { fast: 'SIGINT', immediate: 'SIGQUIT' }
const serverUid = 65_534

/** Whether `privatePostgres` can start one here: known without waiting, so that suites can be skipped by it. */
export function privatePostgresObstacle(version: PostgresVersion = 'newest'): string | undefined {
  const obstacle = process.env[missingVariable(privatePostgresName)] ?? localObstacle()   // `npm test` may know more
  if (obstacle !== undefined) return obstacle
  const template = templates[version]
  if (existsSync(join(databasesHome(), 'template', template, 'kit.json'))) return undefined
  return `not prepared: tools/databases/up.sh --prepare-only ${template}`
}

/** Starts a throw-away PostgreSQL; throws instead of returning `available: false` when SCHED_TEST_REQUIRE names postgres-private. */
export async function privatePostgres(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres | Unavailable> {
  const version = options.version ?? 'newest'
  const reason = privatePostgresObstacle(version)
  if (reason !== undefined) {
    if (requiredServers().has(privatePostgresName)) throw new Error(`SCHED_TEST_REQUIRE names ${privatePostgresName}, but: ${reason}`)
    return { available: false, reason }
  }
  const template = join(databasesHome(), 'template', templates[version])
  const kit = JSON.parse(readFileSync(join(template, 'kit.json'), 'utf8')) as Kit
  const parent = join(databasesHome(), 'private')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'postgres-'))
  tellGuardian({ kind: 'guard-folder', folder })
  chownSync(folder, serverUid, serverUid)
  execFileSync('cp', ['-a', '--reflink=auto', join(template, 'data'), join(folder, 'data')])

  for (let tries = 1; ; tries++) {
    const postgres = privateServer(kit, folder, await freePort(), options.settings ?? {})
    try {
      await postgres.start()
      return postgres
    } catch (error) {
      // Somebody else may have been quicker to take the port.
      if (tries < 3 && (error as Error).message.includes('could not bind')) continue
      await postgres.dispose()
      throw error
    }
  }
}

function privateServer(kit: Kit, folder: string, port: number, settings: Readonly<Record<string, string | number>>): PrivatePostgres {
  const logFile = join(folder, 'log')
  let running: { pid: number, ended: Promise<void> } | undefined

  async function start(): Promise<void> {
    if (running !== undefined) throw new Error('this PostgreSQL is running already')
    for (let tries = 1; ; tries++) {
      const log = await startOnce()
      if (log === undefined) return
      // After a kill the old backends need a moment to notice that their postmaster is gone.
      if (tries < 20 && /shared memory block|lock file .* already exists/.test(log)) { await sleep(100); continue }
      throw new Error(`a private PostgreSQL did not start:\n${log}`)
    }
  }

  /** Undefined when it accepts connections, else its log. */
  async function startOnce(): Promise<string | undefined> {
    const options = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'on', synchronous_commit: 'on', jit: 'off',
      max_connections: 100, shared_buffers: '32MB', log_line_prefix: '%m [%p] ', ...settings }
    const log = openSync(logFile, 'w')
    const child = spawn(enterRoot, [kit.root, folder, `${kit.binaries}/postgres`, '-D', join(folder, 'data'),
      ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])], { detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    const ended = new Promise<void>((resolve, reject) => { child.on('error', reject).on('exit', () => { resolve() }) })
    const pid = child.pid
    if (pid === undefined) { await ended; throw new Error('a private PostgreSQL could not be spawned') }
    tellGuardian({ kind: 'guard', pid, endWith: 'SIGQUIT' })
    running = { pid, ended }
    void ended.then(() => {
      tellGuardian({ kind: 'release', pid })
      if (running?.pid === pid) running = undefined
    })
    const deadline = performance.now() + 30_000
    while (performance.now() < deadline) {
      const text = readFileSync(logFile, 'utf8')
      if (text.includes('ready to accept connections')) return undefined
      if (child.exitCode !== null || child.signalCode !== null) return text
      await sleep(20)
    }
    killTree(pid)
    await ended
    return `not ready after 30 s\n${readFileSync(logFile, 'utf8')}`
  }

  async function stop(mode: StopMode = 'fast'): Promise<void> {
    if (running === undefined) return
    const { pid, ended } = running
    if (mode === 'kill') {
      killTree(pid)
    } else {
      thawTree(pid)
      signal(pid, stopSignals[mode])
    }
    await ended
  }

  const livePid = (): number => {
    if (running === undefined) throw new Error('this PostgreSQL is not running')
    return running.pid
  }

  async function dispose(): Promise<void> {
    await stop('immediate')
    rmSync(folder, { recursive: true, force: true })
    tellGuardian({ kind: 'release-folder', folder })
  }

  return {
    available: true, port, folder, majorVersion: kit.version,
    url: `postgresql://postgres:${kit.password}@127.0.0.1:${port}/postgres`,
    start, stop, dispose,
    async freeze() { await freezeTree(livePid()) },
    thaw() { thawTree(livePid()) },
    [Symbol.asyncDispose]: dispose,
  }
}
