import { OracleErrorStandIn } from './oracle-error-stand-in.ts'

/** What may wait and be interrupted: a session of the server. */
export interface WaiterStandIn {
  readonly name: string
  /** Set while it waits: ends the wait with this error. */
  interrupt: ((error: Error) => void) | undefined
  /** Whom it waits for. */
  waitsFor: ReadonlySet<WaiterStandIn>
}

/** True when waiting for these would close a circle. */
export function wouldDeadlock(waiter: WaiterStandIn, holders: Iterable<WaiterStandIn>): boolean {
  const seen = new Set<WaiterStandIn>()
  const reaches = (from: WaiterStandIn): boolean => {
    if (from === waiter) return true
    if (seen.has(from)) return false
    seen.add(from)
    return [...from.waitsFor].some(reaches)
  }
  return [...holders].some(reaches)
}

/**
 * Waits until `granted` calls back, or `limitMs` is over ('timeout'), or the session is interrupted: by a break of its client
 * (ORA-01013) or by its end.
 */
export function waitStandIn(
  waiter: WaiterStandIn, holders: () => ReadonlySet<WaiterStandIn>, limitMs: number | undefined, subscribe: (wake: () => void) => () => void,
): Promise<'woken' | 'timeout'> {
  return new Promise((resolve, reject) => {
    const end = (finish: () => void): void => {
      clearTimeout(timer)
      unsubscribe()
      waiter.interrupt = undefined
      waiter.waitsFor = new Set()
      finish()
    }
    const timer = limitMs === undefined ? undefined : setTimeout(() => { end(() => { resolve('timeout') }) }, limitMs)
    const unsubscribe = subscribe(() => { end(() => { resolve('woken') }) })
    waiter.waitsFor = holders()
    waiter.interrupt = (error) => { end(() => { reject(error) }) }
  })
}

/** https://docs.oracle.com/en/error-help/db/ora-01013/ */
export function cancelled(): OracleErrorStandIn { return new OracleErrorStandIn(1013, 'User requested cancel of current operation.') }
