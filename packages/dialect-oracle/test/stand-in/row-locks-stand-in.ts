import { OracleErrorStandIn } from './oracle-error-stand-in.ts'
import { waitStandIn, wouldDeadlock, type WaiterStandIn } from './waits-stand-in.ts'

/**
 * Locks on rows and on unique keys that are not committed yet: held until the transaction ends, waited for without limit unless
 * FOR UPDATE says otherwise. https://docs.oracle.com/en/database/oracle/oracle-database/23/cncpt/data-concurrency-and-consistency.html
 */
export class RowLocksStandIn {
  readonly #holders = new Map<string, WaiterStandIn>()
  readonly #waiting = new Set<() => void>()

  held(session: WaiterStandIn): boolean { return [...this.#holders.values()].includes(session) }

  holders(session: WaiterStandIn, keys: readonly string[]): Set<WaiterStandIn> {
    const others = keys.map((key) => this.#holders.get(key)).filter((holder) => holder !== undefined && holder !== session)
    return new Set(others as WaiterStandIn[])
  }

  take(session: WaiterStandIn, keys: readonly string[]): void { for (const key of keys) this.#holders.set(key, session) }

  /** @throws ORA-00060, ORA-00054, ORA-30006, ORA-01013 */
  async wait(session: WaiterStandIn, holders: ReadonlySet<WaiterStandIn>, limitMs: number | undefined, seconds: number | undefined): Promise<void> {
    if (seconds === 0) throw new OracleErrorStandIn(54, 'resource busy and acquire with NOWAIT specified or timeout expired')
    if (wouldDeadlock(session, holders)) throw new OracleErrorStandIn(60, 'deadlock detected while waiting for resource')
    const outcome = await waitStandIn(session, () => holders, limitMs, (wake) => {
      this.#waiting.add(wake)
      return () => { this.#waiting.delete(wake) }
    })
    if (outcome === 'timeout') throw new OracleErrorStandIn(30006, 'resource busy; acquire with WAIT timeout expired')
  }

  snapshot(session: WaiterStandIn): readonly string[] { return [...this.#holders].filter(([, holder]) => holder === session).map(([key]) => key) }

  restore(session: WaiterStandIn, keys: readonly string[]): void {
    this.release(session)
    this.take(session, keys)
  }

  release(session: WaiterStandIn): void {
    for (const [key, holder] of this.#holders) if (holder === session) this.#holders.delete(key)
    for (const wake of [...this.#waiting]) wake()
  }
}
