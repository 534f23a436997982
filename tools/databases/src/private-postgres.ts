import { join } from 'node:path'
import { startPrivateServer, type PrivateServer } from './private-server.ts'
import { copyTemplate, privateObstacle, readKit, unavailable } from './private-template.ts'
import { privatePostgresName } from './required-servers.ts'
import type { ServerName } from './server-table.ts'
import type { Unavailable } from './server.ts'

export type PostgresVersion = 'newest' | 'middle' | 'oldest'

/** fast: sessions are ended, clean; immediate: as after a crash, children included; kill: SIGKILL to every process at once. */
export type StopMode = 'fast' | 'immediate' | 'kill'

export interface PrivatePostgresOptions {
  readonly version?: PostgresVersion
  /** Settings as on the command line (`-c name=value`). */
  readonly settings?: Readonly<Record<string, string | number>>
}

/** A PostgreSQL that belongs to one test. */
export interface PrivatePostgres extends PrivateServer<StopMode> {
  readonly majorVersion: number
}

interface Kit { root: string, binaries: string, version: number, password: string }

const templates: Record<PostgresVersion, ServerName> = { newest: 'postgres', middle: 'postgres-middle', oldest: 'postgres-oldest' }

/** Whether `privatePostgres` can start one here: known without waiting, so that suites can be skipped by it. */
export function privatePostgresObstacle(version: PostgresVersion = 'newest'): string | undefined {
  return privateObstacle(privatePostgresName, templates[version])
}

/** Starts a throw-away PostgreSQL; throws instead of returning `available: false` when SCHED_TEST_REQUIRE names postgres-private. */
export async function privatePostgres({ version = 'newest', settings = {} }: PrivatePostgresOptions = {}): Promise<PrivatePostgres | Unavailable> {
  const reason = privatePostgresObstacle(version)
  if (reason !== undefined) return unavailable(privatePostgresName, reason)
  const kit = readKit<Kit>(templates[version])
  const folder = copyTemplate(templates[version], 'postgres')
  const server = await startPrivateServer<StopMode>({
    called: 'PostgreSQL', folder, root: kit.root,
    command(port) {
      const options = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'on', synchronous_commit: 'on', jit: 'off',
        max_connections: 100, shared_buffers: '32MB', log_line_prefix: '%m [%p] ', ...settings }
      return [`${kit.binaries}/postgres`, '-D', join(folder, 'data'), ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    },
    url: (port) => `postgresql://postgres:${kit.password}@127.0.0.1:${port}/postgres`,
    isReady: (log) => log.includes('ready to accept connections'),
    readyWithinMs: 30_000,
    // The backends of a killed postmaster notice late that it is gone.
    stillHeld: /shared memory block|lock file .* already exists/,
    portTaken: /could not bind/,
    stopSignals: { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' }, defaultStop: 'fast', finalStop: 'immediate',
  })
  return { ...server, majorVersion: kit.version }
}
