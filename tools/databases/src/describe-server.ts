import { describe } from 'vitest'
import { privatePostgres, privatePostgresObstacle, type PostgresVersion, type PrivatePostgres, type PrivatePostgresOptions } from './private-postgres.ts'
import { privateMysql, privateMysqlObstacle, type MysqlTemplate, type PrivateMysql, type PrivateMysqlOptions } from './private-mysql.ts'
import { privateMysqlName, privatePostgresName, requiredServers } from './required-servers.ts'
import type { ServerName } from './server-table.ts'
import { server, type AvailableServer } from './server.ts'

/**
 * A suite that runs on this server, or on each of several. Where one is missing its tests are registered as skipped, the
 * reason in the title; where SCHED_TEST_REQUIRE names it, the file fails.
 */
export function describeServer(names: ServerName | readonly ServerName[], define: (server: AvailableServer) => void): void {
  for (const name of typeof names === 'string' ? [names] : names) {
    const found = server(name)
    if (found.available) describe(`on ${name}`, () => { define(found) })
    else skip(name, found.reason, () => { define(absent(name, found.reason)) })
  }
}

/** A suite whose tests start PostgreSQL servers of their own, with `start`. */
export function describePrivatePostgres(version: PostgresVersion,
  define: (start: (options?: Omit<PrivatePostgresOptions, 'version'>) => Promise<PrivatePostgres>) => void): void {
  const start = async (options: Omit<PrivatePostgresOptions, 'version'> = {}): Promise<PrivatePostgres> => {
    const started = await privatePostgres({ ...options, version })
    if (!started.available) throw new Error(started.reason)
    return started
  }
  const reason = privatePostgresObstacle(version)
  if (reason === undefined) describe(`on a private PostgreSQL (${version})`, () => { define(start) })
  else skip(privatePostgresName, reason, () => { define(start) })
}

/** A suite whose tests start MySQL or MariaDB servers of their own, with `start`. */
export function describePrivateMysql(templates: MysqlTemplate | readonly MysqlTemplate[],
  define: (start: (options?: Omit<PrivateMysqlOptions, 'template'>) => Promise<PrivateMysql>, template: MysqlTemplate) => void): void {
  for (const template of typeof templates === 'string' ? [templates] : templates) {
    const start = async (options: Omit<PrivateMysqlOptions, 'template'> = {}): Promise<PrivateMysql> => {
      const started = await privateMysql({ ...options, template })
      if (!started.available) throw new Error(started.reason)
      return started
    }
    const reason = privateMysqlObstacle(template)
    if (reason === undefined) describe(`on a private server (${template})`, () => { define(start, template) })
    else skip(privateMysqlName, reason, () => { define(start, template) })
  }
}

function skip(name: string, reason: string, define: () => void): void {
  if (requiredServers().has(name)) throw new Error(`SCHED_TEST_REQUIRE names ${name}, but: ${reason}`)
  // The tests are still defined, so that the number of skipped tests is the real one.
  describe.skip(`on ${name} (skipped: ${reason})`, define)
}

/** Stands in while the tests of a skipped suite are collected; none of them runs. */
function absent(name: ServerName, reason: string): AvailableServer {
  const refuse = (): never => { throw new Error(`${name} is not available: ${reason}`) }
  return { available: true, name, url: 'postgresql://absent.invalid/postgres', kill: refuse, freeze: refuse, thaw: refuse, restart: refuse }
}
