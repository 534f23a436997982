import { SchedError, isSchedError } from '../errors.ts'
import type { LockName } from '../spi/lock-name.ts'
import type { Clock } from '../time/clock.ts'
import { sleep } from '../time/wait.ts'
import { createBackoff } from './backoff.ts'
import type { Holding } from './holding.ts'
import type { HoldingRegistry, Reservation } from './holding-registry.ts'
import type { LockSession } from './lock-session.ts'
import type { LockSessions } from './lock-sessions.ts'

export interface AcquireContext {
  readonly sessions: LockSessions
  readonly registry: HoldingRegistry
  readonly supportsWait: boolean
  readonly maxLocks: number
  /** The longest single wait inside the server, so that a dead connection is noticed. */
  readonly sliceMs: number
  readonly clock: Clock
  readonly random: () => number
}

const firstPollMs = 20
const longestPollMs = 1000

/**
 * Waits for a lock: first for the flows of this process, in order of arrival and without a connection; then for others, inside the
 * server on a connection of its own where there is one to be had, else by asking again and again. The deadline is kept here, in
 * milliseconds; no single call outlives a slice.
 * @throws SchedError SCHED_LOCK_TIMEOUT when it was held all the time; why the database could not be asked; what the signal aborts with
 */
export async function acquireLock(context: AcquireContext, name: LockName, waitMs: number, signal: AbortSignal): Promise<Holding> {
  const { registry, clock, maxLocks } = context
  const endsAt = clock.monotonicMs() + waitMs
  const reservation = await registry.reserve(name.canonical, { clock, waitMs, limit: maxLocks, signal })
  if (reservation === undefined) throw timeout(name, waitMs, 'this process')
  let holding: Holding | undefined
  try {
    holding = await waitForGrant(context, reservation, name, endsAt, signal)
    if (holding === undefined) throw timeout(name, waitMs, 'somebody else')
    return holding
  } finally {
    if (holding === undefined) reservation.free()
  }
}

async function waitForGrant(context: AcquireContext, reservation: Reservation, name: LockName, endsAt: number, signal: AbortSignal): Promise<Holding | undefined> {
  const { sessions, clock, sliceMs, random } = context
  // The first attempt says at once when the database is down.
  const atOnce = await sessions.claim(reservation, name, signal)
  const backoff = createBackoff(random, firstPollMs, longestPollMs)
  const leftMs = (): number => endsAt - clock.monotonicMs()
  let waiting: LockSession | undefined
  let failure: SchedError | undefined
  if (atOnce !== undefined || leftMs() <= 0) return atOnce
  try {
    for (;;) {
      const began = clock.monotonicMs()
      let waitedMs = 0
      try {
        if (waiting?.state !== 'open') waiting = context.supportsWait ? await openWaiting(sessions, leftMs(), signal) : undefined
        waitedMs = waiting === undefined ? 0 : Math.max(1, Math.min(sliceMs, leftMs()))
        const holding = waiting === undefined ? await sessions.claim(reservation, name, signal) : await waiting.claim(reservation, name, { waitMs: Math.ceil(waitedMs), signal })
        failure = undefined
        if (holding !== undefined) {
          // The session ends with the lock it waited for.
          waiting?.quarantine()
          waiting = undefined
          return holding
        }
      } catch (error) {
        // A restart of the server is sat out, for as long as the caller wants to wait.
        if (signal.aborted || !isSchedError(error) || !error.retryable) throw error
        failure = error
      }
      if (leftMs() <= 0) {
        if (failure !== undefined) throw failure
        return undefined
      }
      // Nothing to pace where the server has waited as it was asked to.
      const paced = failure === undefined && waitedMs > 0 && clock.monotonicMs() - began >= waitedMs / 2
      if (!paced) await sleep(clock, Math.min(backoff.nextMs(), leftMs()), signal)
    }
  } finally {
    waiting?.close(new SchedError('SCHED_ABORTED', 'the wait is over.'))
  }
}

async function openWaiting(sessions: LockSessions, leftMs: number, signal: AbortSignal): Promise<LockSession | undefined> {
  try {
    return await sessions.openWaiting(Math.max(1, leftMs), signal)
  } catch (error) {
    // A server or pool without a connection to spare: asking on the main session needs none.
    if (isSchedError(error, 'SCHED_RESOURCE_EXHAUSTED')) return undefined
    throw error
  }
}

function timeout(name: LockName, waitMs: number, holder: string): SchedError {
  return new SchedError('SCHED_LOCK_TIMEOUT', `the lock ${JSON.stringify(name.name)} was held by ${holder} for the whole wait of ${waitMs} ms.`, {
    remedy: 'inspect(name) says who holds it; waitMs should be the run times of all holders that may come before, and 30 % more.', details: { name: name.name, waitMs },
  })
}
