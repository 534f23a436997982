import { randomBytes } from 'node:crypto'
import { asError } from '../errors.ts'
import { errorClassOf } from '../session/classified-error.ts'
import { transient, type ErrorClass } from '../spi/error-class.ts'
import type { LockName } from '../spi/lock-name.ts'
import type { LockRequest } from '../spi/lock-source.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { abortError, sleep } from '../time/wait.ts'
import { createBackoff } from './backoff.ts'
import type { Reservation } from './holding-registry.ts'
import { attemptLock, releaseOn, type AttemptResult, type AttemptTrace } from './lock-attempt.ts'
import type { LockSessionCore } from './lock-session-core.ts'

/** Errors that a server answers without having granted anything. */
const refusals: ReadonlySet<ErrorClass> = new Set<ErrorClass>(['permission', 'missing-table', 'read-only', 'name-invalid', 'unsupported', 'duplicate-key', 'already-exists'])

export interface Claimed { readonly request: LockRequest; readonly result: AttemptResult }

/**
 * Asks the database for a reserved name: one attempt, and more after errors that say "try again", within the statement limit.
 * When it rejects, the reservation is held for as long as it takes to clear up what may have been left behind.
 * @param waitMs waits inside the server; an abort then destroys the session
 */
export async function claimLock(core: LockSessionCore, reservation: Reservation, name: LockName, waitMs: number | undefined, signal: AbortSignal | undefined): Promise<Claimed> {
  const { strategy, clock, fence, tied, leaseMs, ownerLabel } = core
  const request: LockRequest = { name, owner: randomBytes(16).toString('hex'), ownerLabel, leaseMs }
  const context = { strategy, kind: tied ? 'session' : 'lease', clock, fence } as const
  const trace: AttemptTrace = { firstSent: undefined, doubt: false, granted: false }
  const limitMs = core.statementMs + (waitMs ?? 0)
  const limits = { deadlineMs: limitMs, signal: waitMs === undefined ? undefined : signal }
  const backoff = createBackoff(core.random, 5, 250)
  const spent = startStopwatch(clock)
  let mayReopen = !tied
  for (;;) {
    try {
      core.refuseUnlessOpen()
      const result = await core.slot.run(`locking ${JSON.stringify(name.name)}`, (connection) => {
        // Given up while it waited for its turn: nothing was sent, so nothing is sent.
        if (signal?.aborted === true) throw abortError(signal)
        return attemptLock(connection, request, context, trace, waitMs)
      }, limits)
      core.renewed(result.sent)
      return { request, result }
    } catch (error) {
      const errorClass = errorClassOf(error)
      const inTime = signal?.aborted !== true && spent.elapsedMs() < limitMs
      if (inTime && errorClass !== undefined && transient.has(errorClass)) {
        // A statement that was rolled back wrote no row. A session may hold the lock although the server complained: looked at next.
        if (!tied) trace.doubt = false
        await sleep(clock, backoff.nextMs())
        continue
      }
      if (inTime && mayReopen && core.slot.lost !== undefined) { mayReopen = false; continue }
      if (trace.doubt && (trace.granted || errorClass === undefined || !refusals.has(errorClass))) {
        const clearing = core.behind(clearUp(core, request))
        reservation.holdFor(clearing)
        // One statement; and the next try for the name must not be refused because of us.
        if (tied) await clearing
      }
      throw error
    }
  }
}

/** Takes back what a failed request may have been granted. Bounded, never rejects; a session that stays in doubt is quarantined. */
export async function clearUp(core: LockSessionCore, request: LockRequest): Promise<void> {
  const { slot, strategy, tied, clock, statementMs } = core
  if (tied && slot.lost !== undefined) return
  const holding = { name: request.name, owner: request.owner, fencingToken: undefined }
  const backoff = createBackoff(core.random, 50, 1000)
  const spent = startStopwatch(clock)
  for (;;) {
    try {
      const answer = await slot.run('clearing up after a failed lock', async (connection) => {
        // A session's release is by name: only what it holds may be released, or a server would complain to its log.
        if (tied && await strategy.isHeld(connection, holding) !== 'mine') return 'not-held'
        return releaseOn(connection, holding, strategy)
      }, { deadlineMs: statementMs, urgency: 'release' })
      if (answer !== 'doubt') return
      core.quarantine()
      return
    } catch (thrown) {
      if (tied) { core.quarantine(); return }
      // The row expires by itself; until then the name stays taken for everybody, so it is worth some tries.
      if (slot.over || spent.elapsedMs() >= Math.min(core.leaseMs, 2 * statementMs)) {
        core.emit({ kind: 'lock.release-failed', name: request.name.name, owner: request.owner, error: asError(thrown) })
        return
      }
      await sleep(clock, backoff.nextMs(), undefined, { unref: true })
    }
  }
}
