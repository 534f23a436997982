import { join } from 'node:path'
import { startPrivateServer, type PrivateServer } from './private-server.ts'
import { copyTemplate, privateObstacle, readKit, unavailable } from './private-template.ts'
import { privateMysqlName } from './required-servers.ts'
import type { ServerName } from './server-table.ts'
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

/** A MySQL or MariaDB that belongs to one test. clean: sessions are ended, then it stops; kill: SIGKILL. */
export type PrivateMysql = PrivateServer<'clean' | 'kill'>

interface Kit { root: string, scheme: string, user: string, password: string, program: string, options: string }

/** Whether `privateMysql` can start one here: known without waiting, so that suites can be skipped by it. */
export function privateMysqlObstacle(template: MysqlTemplate = 'mysql'): string | undefined {
  return privateObstacle(privateMysqlName, template)
}

/** Starts a throw-away MySQL or MariaDB; throws instead of returning `available: false` when SCHED_TEST_REQUIRE names mysql-private. */
export async function privateMysql({ template = 'mysql', settings = {}, timeZone }: PrivateMysqlOptions = {}): Promise<PrivateMysql | Unavailable> {
  const reason = privateMysqlObstacle(template)
  if (reason !== undefined) return unavailable(privateMysqlName, reason)
  const kit = readKit<Kit>(template)
  const folder = copyTemplate(template, template, ['tmp'])
  return startPrivateServer({
    called: 'server', folder, root: kit.root,
    command: (port) => [...(timeZone === undefined ? [] : ['/usr/bin/env', `TZ=${timeZone}`]), kit.program,
      ...kit.options.replaceAll('FOLDER', folder).split(' '), `--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(folder, 'my.sock')}`,
      `--pid-file=${join(folder, 'my.pid')}`, ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)],
    url: (port) => `${kit.scheme}://${kit.user}:${kit.password}@127.0.0.1:${port}/test`,
    isReady: (log, port) => log.includes('ready for connections') && log.includes(`port: ${port}`),
    readyWithinMs: 60_000,
    // The kernel gives the locks of a killed process back late.
    stillHeld: /unable to lock/i,
    portTaken: /already in use/i,
    stopSignals: { clean: 'SIGTERM', kill: 'SIGKILL' }, defaultStop: 'clean', finalStop: 'kill',
  })
}
