import { freshDatabase, type AvailableServer } from '@sched-dev/databases'
import { postgres } from '@sched/dialect-postgres'
import type { Place } from './on-place.ts'

/** A database of its own on a PostgreSQL server, or behind a PgBouncer. */
export function postgresPlace(server: AvailableServer): Place {
  return {
    title: server.name,
    sharedSessions: server.name === 'pgbouncer-transaction',
    async open() {
      const database = await freshDatabase(server.url)
      return { dialect: postgres({ url: database.url }), end: () => database.drop() }
    },
  }
}
