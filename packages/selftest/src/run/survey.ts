import type { Dialect, LockConnection, LockProbe, OpenOptions } from '@sched/core/spi'
import { SchedError } from '@sched/core/spi'
import type { Facts } from '../facts.ts'
import type { Measured, Product } from '../report/report.ts'
import type { TargetSecrets } from './secrets.ts'
import { timed, within } from './timing.ts'

const answerLimitMs = 15_000

/** Asks the target what it is. Rejects when it does not answer. */
export async function probed(dialect: Dialect, options: OpenOptions): Promise<LockProbe> {
  return within(dialect.locks.probe(options), answerLimitMs, noAnswer)
}

export function productOf({ product, version, scope, sharedSessions, capabilities, findings }: LockProbe, { redact }: TargetSecrets): Product {
  const shown = findings.map(({ level, code, message, remedy }) => ({ level, code, message: redact(message), remedy: redact(remedy) }))
  return { product, version, scope: redact(scope), sharedSessions, capabilities, findings: shown }
}

/** What the shape of the source and of one connection say. Nothing here is behaviour: that is for the cases. */
export function factsOf(dialect: Dialect, probe: LockProbe, connection: LockConnection, secrets: TargetSecrets): Facts {
  const { locks, store } = dialect
  // Behind a transaction pooler a connection has no session of its own that could be listed, ended or set up.
  const ownSession = !probe.sharedSessions
  return {
    capabilities: probe.capabilities,
    diagnostics: locks.diagnostics !== undefined,
    serverSessions: ownSession && locks.diagnostics !== undefined && connection.id !== undefined,
    kill: ownSession && locks.diagnostics?.kill !== undefined,
    store: store !== undefined,
    lockTable: locks.needsLockTable === true,
    sql: ownSession && connection.sql !== undefined,
    password: secrets.values.length > 0,
  }
}

export async function measured(dialect: Dialect, options: OpenOptions, sharedSessions: boolean): Promise<{ measured: Measured; connection: LockConnection }> {
  const { result: connection, tookMs: openMs } = await timed(() => within(dialect.locks.open('pulse', options), answerLimitMs, noAnswer))
  try {
    const pings: number[] = []
    for (let ping = 0; ping < 9; ping += 1) pings.push((await timed(() => within(connection.ping(), answerLimitMs, noAnswer))).tookMs)
    const roundTripMs = pings.sort((a, b) => a - b)[4] ?? 0
    const clockOffsetMs = await clockOffset(dialect, options, sharedSessions)
    return { measured: { openMs: tenths(openMs), roundTripMs: hundredths(roundTripMs), ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }) }, connection }
  } catch (error) {
    connection.destroy()
    throw error
  }
}

/** The database's clock less this host's, from the quickest of some readings. */
async function clockOffset(dialect: Dialect, options: OpenOptions, sharedSessions: boolean): Promise<number | undefined> {
  const { store } = dialect
  if (store === undefined) return undefined
  const session = await store.open('store', { ...options, sharedSessions, statementMs: 5_000, rowLockMs: 1_000 })
  try {
    let best = { tookMs: Infinity, offsetMs: 0 }
    for (let reading = 0; reading < 5; reading += 1) {
      await session.begin()
      const sentAt = Date.now()
      const { result, tookMs } = await timed(() => session.run({ text: `SELECT ${store.sql.nowMs} AS db_now${store.sql.dual}`, params: [] }))
      await session.commit()
      if (tookMs < best.tookMs) best = { tookMs, offsetMs: Number(result.rows[0]?.['db_now']) - sentAt - tookMs / 2 }
    }
    return Math.round(best.offsetMs)
  } finally { session.destroy() }
}

const tenths = (value: number): number => Math.round(value * 10) / 10
const hundredths = (value: number): number => Math.round(value * 100) / 100

function noAnswer(): Error {
  return new SchedError('SCHED_DATABASE_UNREACHABLE', `the database did not answer within ${answerLimitMs / 1_000} s.`, { remedy: 'Check host, port and network, and that the server runs.' })
}
