import type { LockStrategy } from '@sched/core/spi'
import { altered, changedHoldings, type Alteration } from './alter.ts'
import type { Mutant } from './mutant.ts'
import { remembering } from './release-mutants.ts'

const unchanged = <T>(given: T): T => given
const leases = (change: (leaseMs: number) => number): Alteration => ({ strategy: (real) => changedHoldings(real, (request) => ({ ...request, leaseMs: change(request.leaseMs) }), unchanged) })
const withoutToken = (real: LockStrategy): Partial<LockStrategy> => changedHoldings(real, unchanged, (holding) => ({ ...holding, fencingToken: undefined }))
const clock = (change: (nowMs: string) => string): Alteration => ({ store: (real) => ({ sql: { ...real.sql, nowMs: change(real.sql.nowMs) } }) })
/** How far the process's own clock was put wrong. */
const shiftMs = (): number => Math.round(Date.now() - performance.timeOrigin - performance.now())

function tokens(real: LockStrategy, next: (real: number | undefined) => number | undefined): Partial<LockStrategy> {
  return { ...withoutToken(real), async tryLock(connection, request) {
    const outcome = await real.tryLock(connection, request)
    if (outcome.status !== 'granted') return outcome
    const token = next(outcome.fencingToken)
    return { status: 'granted', ...(token === undefined ? {} : { fencingToken: token }) }
  } }
}

export const leaseMutants: readonly Mutant[] = [
  { name: 'has leases twenty times as long', base: 'sqlite', kills: ['LSE-01'], dialect: (base) => altered(base, leases((leaseMs) => leaseMs * 20)) },
  {
    name: 'sets no idle limit', base: 'postgres', kills: ['LSE-01'],
    dialect: (base) => altered(base, { source: (real) => ({ open: (purpose, options) => real.open(purpose, { ...options, leaseMs: 600_000 }) }) }),
  },
  {
    name: 'ends silent sessions without saying so', base: 'postgres-oldest', kills: ['LSE-01/opposite'],
    dialect: (base) => altered(base, { connection: (real, { options }) => { setTimeout(() => real.destroy(), options.leaseMs).unref(); return {} } }),
  },
  { name: 'has leases a tenth as long', base: 'sqlite', kills: ['LSE-02', 'LSE-05'], dialect: (base) => altered(base, leases((leaseMs) => leaseMs / 10)) },
  { name: 'has one lease for all', base: 'sqlite', kills: ['LSE-04'], dialect: (base) => altered(base, leases(() => 1_000)) },
  {
    name: 'frees leases with their connection', base: 'sqlite', kills: ['LSE-03', 'OWN-03'],
    dialect: (base) => {
      const held: Parameters<typeof remembering>[1] = new Map()
      return altered(base, {
        strategy: (real) => remembering(real, held),
        connection: (real) => {
          let destroyed = false
          const destroy = (): void => {
            if (destroyed) return
            destroyed = true
            const mine = [...held.values()].filter(({ connection }) => connection.destroy === destroy)
            void Promise.all(mine.map(({ holding }) => base.locks.strategy.release(real, holding))).then(() => real.destroy())
          }
          return { destroy }
        },
      })
    },
  },
  { name: 'grants without a token', base: 'sqlite', kills: ['FEN-01'], dialect: (base) => altered(base, { strategy: (real) => tokens(real, () => undefined) }) },
  {
    name: 'makes up a token', base: 'postgres', kills: ['FEN-01/opposite'],
    dialect: (base) => altered(base, { strategy: (real) => tokens(real, () => Date.now()) }),
  },
  { name: 'has tokens that do not grow', base: 'sqlite', kills: ['FEN-02', 'FEN-03'], dialect: (base) => altered(base, { strategy: (real) => tokens(real, () => 1) }) },
  {
    name: 'counts its tokens from one', base: 'sqlite', kills: ['FEN-04'],
    dialect: (base) => {
      let table = ''
      let token = 0
      return altered(base, {
        connection: (_real, { options }) => { table = options.tables?.locks ?? table; return {} },
        strategy: (real) => ({ ...withoutToken(real), async tryLock(connection, request) {
          const { rows } = await connection.sql!.run({ text: `SELECT COUNT(*) AS rows_left FROM ${table}`, params: [] })
          if (rows[0]?.['rows_left'] === 0) token = 0
          const outcome = await real.tryLock(connection, request)
          return outcome.status === 'granted' ? { status: 'granted', fencingToken: token += 1 } : outcome
        } }),
      })
    },
  },
  { name: 'ignores the token of a holding', base: 'sqlite', kills: ['FEN-05'], dialect: (base) => altered(base, { strategy: withoutToken }) },
  {
    name: 'judges expiry by the clock of the client', base: 'sqlite', kills: ['CLK-01'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async tryLock(connection, request) {
      const holder = await real.inspect(connection, request.name)
      if (holder !== null && (holder.expiresAt ?? 0) < Date.now()) await real.release(connection, { name: request.name, owner: holder.owner ?? '', fencingToken: holder.fencingToken })
      return real.tryLock(connection, request)
    } }) }),
  },
  {
    name: 'writes the expiry by the clock of the client', base: 'sqlite', kills: ['CLK-02'],
    dialect: (base) => altered(base, leases((leaseMs) => leaseMs + shiftMs())),
  },
  { name: 'tells the time in whole seconds', base: 'sqlite', kills: ['CLK-03'], dialect: (base) => altered(base, clock((nowMs) => `(${nowMs} / 1000 * 1000)`)) },
  { name: 'has a clock that stands still', base: 'sqlite', kills: ['CLK-03', 'CLK-04'], dialect: (base) => altered(base, clock(() => '1700000000123')) },
  { name: 'tells the local time', base: 'sqlite', kills: ['CLK-04'], dialect: (base) => altered(base, clock((nowMs) => `(${nowMs} + 7200000)`)) },
]
