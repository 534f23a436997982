import { execFileSync, spawn } from 'node:child_process'
import { chownSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { tellGuardian } from './guardian.ts'
import { databasesHome, enterRoot, localObstacle } from './local-provisioning.ts'
import { freezeTree, killTree, signal, thawTree } from './process-tree.ts'
import { privateMysqlName, requiredServers } from './required-servers.ts'
import { missingVariable, type ServerName } from './server-table.ts'
import type { Unavailable } from './server.ts'

/** Whose template it is made from. */
export type MysqlTemplate = Extract<ServerName, 'mysql' | 'mariadb' | 'mariadb-oldest'>

export interface PrivateMysqlOptions {
  readonly template?: MysqlTemplate
  /** Settings as on the command line (`--name=value`). */
  readonly settings?: Readonly<Record<string, string | number>>
  /** The server's own zone (TZ): what SYSTEM means to it. */
  readonly timeZone?: string
}

/** A MySQL or MariaDB that belongs to one test: killing or freezing it hurts no other. The URL stays the same over restarts. */
export interface PrivateMysql extends AsyncDisposable {
  readonly available: true
  readonly url: string
  readonly port: number
  /** Its data and its log. */
  readonly folder: string
  start(): Promise<void>
  /** clean: sessions are ended, then it stops; kill: SIGKILL. */
  stop(mode?: 'clean' | 'kill'): Promise<void>
  freeze(): Promise<void>
  thaw(): void
  /** Stops it and removes its data. Idempotent; also done when the test process dies. */
  dispose(): Promise<void>
}

interface Kit { root: string, scheme: string, user: string, password: string, program: string, options: string }

const serverUid = 65_534

/** Whether `privateMysql` can start one here: known without waiting, so that suites can be skipped by it. */
export function privateMysqlObstacle(template: MysqlTemplate = 'mysql'): string | undefined {
  const obstacle = process.env[missingVariable(privateMysqlName)] ?? localObstacle()
  if (obstacle !== undefined) return obstacle
  if (existsSync(join(databasesHome(), 'template', template, 'kit.json'))) return undefined
  return `not prepared: tools/databases/up.sh --prepare-only ${template}`
}

/** Starts a throw-away MySQL or MariaDB; throws instead of returning `available: false` when SCHED_TEST_REQUIRE names mysql-private. */
export async function privateMysql(options: PrivateMysqlOptions = {}): Promise<PrivateMysql | Unavailable> {
  const name = options.template ?? 'mysql'
  const reason = privateMysqlObstacle(name)
  if (reason !== undefined) {
    if (requiredServers().has(privateMysqlName)) throw new Error(`SCHED_TEST_REQUIRE names ${privateMysqlName}, but: ${reason}`)
    return { available: false, reason }
  }
  const template = join(databasesHome(), 'template', name)
  const kit = JSON.parse(readFileSync(join(template, 'kit.json'), 'utf8')) as Kit
  const parent = join(databasesHome(), 'private')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, `${name}-`))
  tellGuardian({ kind: 'guard-folder', folder })
  mkdirSync(join(folder, 'tmp'))
  for (const each of [folder, join(folder, 'tmp')]) chownSync(each, serverUid, serverUid)
  execFileSync('cp', ['-a', '--reflink=auto', join(template, 'data'), join(folder, 'data')])

  for (let tries = 1; ; tries++) {
    const server = privateServer(kit, folder, await freePort(), options)
    try {
      await server.start()
      return server
    } catch (error) {
      // Somebody else may have been quicker to take the port.
      if (tries < 3 && /already in use/i.test((error as Error).message)) continue
      await server.dispose()
      throw error
    }
  }
}

function privateServer(kit: Kit, folder: string, port: number, { settings = {}, timeZone }: PrivateMysqlOptions): PrivateMysql {
  const logFile = join(folder, 'log')
  let running: { pid: number, ended: Promise<void> } | undefined

  async function start(): Promise<void> {
    if (running !== undefined) throw new Error('this server is running already')
    for (let tries = 1; ; tries++) {
      const log = await startOnce()
      if (log === undefined) return
      // After a kill the kernel may need a moment to give its locks back.
      if (tries < 20 && /unable to lock/i.test(log)) { await sleep(100); continue }
      throw new Error(`a private server did not start:\n${log}`)
    }
  }

  /** Undefined when it accepts connections, else its log. */
  async function startOnce(): Promise<string | undefined> {
    const log = openSync(logFile, 'w')
    const child = spawn(enterRoot, [kit.root, folder, ...(timeZone === undefined ? [] : ['/usr/bin/env', `TZ=${timeZone}`]), kit.program,
      ...kit.options.replaceAll('FOLDER', folder).split(' '), `--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(folder, 'my.sock')}`,
      `--pid-file=${join(folder, 'my.pid')}`, ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)], { detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    const ended = new Promise<void>((resolve, reject) => { child.on('error', reject).on('exit', () => { resolve() }) })
    const pid = child.pid
    if (pid === undefined) { await ended; throw new Error('a private server could not be spawned') }
    tellGuardian({ kind: 'guard', pid, endWith: 'SIGKILL' })
    running = { pid, ended }
    void ended.then(() => {
      tellGuardian({ kind: 'release', pid })
      if (running?.pid === pid) running = undefined
    })
    const deadline = performance.now() + 60_000
    while (performance.now() < deadline) {
      const text = readFileSync(logFile, 'utf8')
      if (text.includes('ready for connections') && text.includes(`port: ${port}`)) return undefined
      if (child.exitCode !== null || child.signalCode !== null) return text
      await sleep(20)
    }
    killTree(pid)
    await ended
    return `not ready after 60 s\n${readFileSync(logFile, 'utf8')}`
  }

  async function stop(mode: 'clean' | 'kill' = 'clean'): Promise<void> {
    if (running === undefined) return
    const { pid, ended } = running
    if (mode === 'kill') {
      killTree(pid)
    } else {
      thawTree(pid)
      signal(pid, 'SIGTERM')
    }
    await ended
  }

  const livePid = (): number => {
    if (running === undefined) throw new Error('this server is not running')
    return running.pid
  }

  async function dispose(): Promise<void> {
    await stop('kill')
    rmSync(folder, { recursive: true, force: true })
    tellGuardian({ kind: 'release-folder', folder })
  }

  return {
    available: true, port, folder,
    url: `${kit.scheme}://${kit.user}:${kit.password}@127.0.0.1:${port}/test`,
    start, stop, dispose,
    async freeze() { await freezeTree(livePid()) },
    thaw() { thawTree(livePid()) },
    [Symbol.asyncDispose]: dispose,
  }
}
