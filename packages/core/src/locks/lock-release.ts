import { asError, isSchedError } from '../errors.ts'
import { errorClassOf } from '../session/classified-error.ts'
import { transient } from '../spi/error-class.ts'
import { startStopwatch, type Stopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import { createBackoff } from './backoff.ts'
import type { Holding } from './holding.ts'
import { releaseOn } from './lock-attempt.ts'
import { lockLost, type LockSessionCore } from './lock-session-core.ts'

/**
 * Gives a lock back; the turn on the connection comes after a refresh that is in flight. Never rejects: what cannot be confirmed
 * is `lost`, and the reason goes to the events.
 */
export async function releaseHolding(core: LockSessionCore, holding: Holding): Promise<'released' | 'lost'> {
  if (holding.judge() !== undefined) return 'lost'
  const backoff = createBackoff(core.random, 5, 250)
  let failing: Stopwatch | undefined
  let unanswered = false
  for (;;) {
    try {
      const answer = await core.slot.run(`releasing ${JSON.stringify(holding.name.name)}`, async (connection) => {
        const lost = holding.judge()
        if (lost !== undefined) throw lost
        // Not before its turn: until then the heartbeat keeps it.
        holding.markReleasing()
        const sent = startStopwatch(core.clock)
        const answer = await releaseOn(connection, holding, core.strategy)
        core.renewed(sent)
        return answer
      }, { deadlineMs: core.statementMs, urgency: 'release' })
      // After an answer that never came, "not held" is our own release. It was good when that was sent.
      if (answer === 'released' || (answer === 'not-held' && unanswered)) { holding.markReleased(); return 'released' }
      if (answer === 'not-held') {
        holding.lose(lockLost(holding, 'the database says that it was not held any more when it was released'))
      } else {
        core.emit({ kind: 'lock.release-failed', name: holding.name.name, owner: holding.owner, error: lockLost(holding, 'the database would not say whether the release worked') })
        holding.lose(lockLost(holding, 'its release could not be confirmed'))
      }
      core.quarantine()
      return 'lost'
    } catch (thrown) {
      const error = asError(thrown)
      if (holding.judge() !== undefined) return 'lost'
      const errorClass = errorClassOf(error)
      const rolledBack = errorClass !== undefined && transient.has(errorClass)
      // A row can be released through the next connection; a session that is in doubt is gone, and the lock with it.
      const again = rolledBack || (!core.tied && core.slot.lost !== undefined && isSchedError(error) && error.retryable)
      failing ??= startStopwatch(core.clock)
      if (again && failing.elapsedMs() < core.statementMs) {
        if (!rolledBack) unanswered = true
        await sleep(core.clock, backoff.nextMs())
        continue
      }
      core.emit({ kind: 'lock.release-failed', name: holding.name.name, owner: holding.owner, error })
      holding.lose(lockLost(holding, 'its release could not be confirmed', error))
      core.quarantine()
      return 'lost'
    }
  }
}
