import { randomUUID } from 'node:crypto'
import type { Connector } from '../connect/connector.ts'
import type { PhysicalSession } from '../session/physical-session.ts'

/** Enough to take away the idle sessions of a pooler that picks among them at random. */
const rounds = 3

/**
 * Whether something in between lends one server session to several clients. Comparing the backend of two statements does not tell:
 * an idle pooler gives the same one again. So `first` leaves a mark on its session; another client holds a transaction open, and so
 * keeps whatever session it was given; then `first` looks again. Shared, if the other one was given the session of `first`, or
 * `first` is on another session or does not find its mark. More holders, each with its transaction open, corner poolers that choose
 * otherwise; where there may be too few connections (`limit`, `first` included) one holder begins again.
 * https://www.pgbouncer.org/features.html
 */
export async function sessionsAreShared(connector: Connector, first: PhysicalSession, limit: number, signal: AbortSignal): Promise<boolean> {
  const mark = randomUUID()
  const { session_id: pid } = (await first.run({
    text: "SELECT pg_catalog.pg_backend_pid() AS session_id, pg_catalog.set_config('sched.probe', ?, false) AS mark", params: [mark],
  })).rows[0] ?? {}
  const spare = limit - 1
  const holders: PhysicalSession[] = []
  try {
    for (let round = 0; round < Math.min(rounds, spare * rounds); round++) {
      const holder = await nextHolder(connector, holders, spare, signal)
      await holder.command('BEGIN')
      if (await backendOf(holder) === pid) return true
      if (!await isUnchanged(first, pid, mark)) return true
    }
    return false
  } finally {
    for (const holder of holders) holder.destroy()
  }
}

async function nextHolder(connector: Connector, holders: PhysicalSession[], spare: number, signal: AbortSignal): Promise<PhysicalSession> {
  const [last] = holders.slice(-1)
  if (last !== undefined && holders.length >= spare) {
    await last.command('COMMIT')
    return last
  }
  const holder = await connector.connect(signal)
  holders.push(holder)
  return holder
}

async function backendOf(session: PhysicalSession): Promise<unknown> {
  const { rows: [row] } = await session.run({ text: 'SELECT pg_catalog.pg_backend_pid() AS session_id', params: [] })
  return row?.['session_id']
}

async function isUnchanged(first: PhysicalSession, pid: unknown, mark: string): Promise<boolean> {
  const { rows: [row] } = await first.run({
    text: "SELECT pg_catalog.pg_backend_pid() AS session_id, pg_catalog.current_setting('sched.probe', true) AS mark", params: [],
  })
  return row?.['session_id'] === pid && row?.['mark'] === mark
}
