import type { SchedError } from '../errors.ts'

/** An AbortSignal that is judged whenever somebody looks at it, and the way to abort it. */
export interface LeaseSignal {
  readonly signal: AbortSignal
  /** Judges now: aborts when the lease is over. Returns the reason, or undefined while the lease is good. */
  judge: () => Error | undefined
  abort: (reason: Error) => void
}

/**
 * A signal whose `aborted`, `reason` and `throwIfAborted` ask `judge` at the moment they are read (P5). Timers and socket events
 * are not enough: after a freeze the user's code runs before them. The abort event follows in the same tick.
 *
 * Known gap: on Node 24 a fresh `AbortSignal.any([signal])` reads the inner state and follows only once somebody looks at the source.
 */
export function createLeaseSignal(judge: () => SchedError | undefined): LeaseSignal {
  const controller = new AbortController()
  const { signal } = controller
  // The state behind our own properties.
  const aborted = (): boolean => Reflect.get(AbortSignal.prototype, 'aborted', signal)

  const look = (): Error | undefined => {
    if (!aborted()) {
      const reason = judge()
      if (reason !== undefined) controller.abort(reason)
    }
    return aborted() ? Reflect.get(AbortSignal.prototype, 'reason', signal) as Error : undefined
  }
  Object.defineProperties(signal, {
    aborted: { get: () => look() !== undefined },
    reason: { get: () => look() },
    throwIfAborted: { value: () => { const reason = look(); if (reason !== undefined) throw reason } },
  })
  return { signal, judge: look, abort: (reason) => { if (!aborted()) controller.abort(reason) } }
}
