import type { LockOutcome } from '@sched/core/spi'
import { altered } from './alter.ts'
import type { Mutant } from './mutant.ts'

export const errorMutants: readonly Mutant[] = [
  { name: 'calls everything contention', base: 'sqlite', kills: ['ERR-01', 'ERR-02'], dialect: (base) => altered(base, { source: () => ({ classify: () => 'contended' }) }) },
  {
    name: 'calls an error of the connection a refusal', base: 'sqlite', kills: ['ERR-02', 'ERR-05'],
    dialect: (base) => altered(base, { strategy: (real) => ({ tryLock: (connection, request) => real.tryLock(connection, request).catch((): LockOutcome => ({ status: 'refused' })) }) }),
  },
  {
    name: 'calls an error of the connection a release', base: 'postgres', kills: ['ERR-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ release: (connection, holding) => real.release(connection, holding).catch(() => ({ status: 'released' })) }) }),
  },
  {
    name: 'answers although the connection is lost', base: 'postgres', kills: ['ERR-04', 'HLD-04/opposite', 'REF-04/opposite'],
    dialect: (base) => altered(base, { strategy: (real) => ({
      isHeld: (connection, holding) => real.isHeld(connection, holding).catch(() => 'free' as const),
      inspect: (connection, name) => real.inspect(connection, name).catch(() => null),
      refresh: (connection, holdings, leaseMs) => real.refresh(connection, holdings, leaseMs).catch(() => ({ lost: [] })),
    }) }),
  },
  {
    name: 'needs tables for native locks', base: 'postgres', kills: ['ERR-05/opposite'],
    dialect: (base) => altered(base, { source: (real) => ({ async open(purpose, options) {
      if (options.tables === undefined) throw new Error('no tables')
      return real.open(purpose, options)
    } }) }),
  },
  {
    name: 'loses the session with every failed statement', base: 'postgres', kills: ['ERR-06'],
    dialect: (base) => altered(base, { connection: (real) => {
      const { sql } = real
      return sql === undefined ? {} : { sql: {
        client: sql.client, begin: () => sql.begin(), commit: () => sql.commit(), rollback: () => sql.rollback(), ping: () => sql.ping(), destroy: () => sql.destroy(),
        run: (statement) => sql.run(statement).catch((error: unknown) => { real.destroy(); throw error }),
      } }
    } }),
  },
  {
    name: 'quotes the URL in its errors', base: 'postgres', kills: ['ERR-07'],
    dialect: (base) => altered(base, { connection: (real) => ({ ping: () => real.ping().catch((error: unknown) => { throw new Error(`no answer from ${process.env['SCHED_TEST_POSTGRES_URL']}`, { cause: error }) }) }) }),
  },
]
