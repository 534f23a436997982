import { SchedError, asError, isSchedError } from '../errors.ts'
import { classifiedError } from './classified-error.ts'
import { GuardedSession, type Destroyable } from './guarded-session.ts'
import { retryTransient } from './retry-transient.ts'
import type { ErrorClass } from '../spi/error-class.ts'
import { redactSecrets } from '../spi/redact.ts'
import type { Clock } from '../time/clock.ts'
import { withDeadline } from '../time/wait.ts'

export interface ReachOptions {
  clock: Clock
  random: () => number
  /** The longest it may take, the tries after contention included. */
  deadlineMs: number
  classify(error: unknown): ErrorClass
  /** The URL whose secrets must not show in an error. */
  url?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * Runs what has no session yet: a probe, the opening of a session. `work` gets a signal that aborts at the deadline; what it opens
 * late is its to destroy. Contention is tried again: an SQLite file is busy for a moment while another instance switches it to WAL.
 * @throws SchedError SCHED_DATABASE_UNREACHABLE where nothing answered, else by the class of the error
 */
export async function reachDatabase<T>(what: string, work: (signal: AbortSignal) => Promise<T>, options: ReachOptions): Promise<T> {
  const { clock, random, deadlineMs, signal } = options
  const given = new AbortController()
  const attempt = async (): Promise<T> => {
    try {
      return await work(given.signal)
    } catch (thrown) {
      // The reason of an abort is the caller's own error, not the driver's.
      throw isSchedError(thrown) || thrown === given.signal.reason ? thrown : translated(what, thrown, options)
    }
  }
  return withDeadline(clock, retryTransient(attempt, { clock, random, deadlineMs, signal: given.signal }), {
    deadlineMs, signal, onAbandon: (reason) => given.abort(reason),
    onDeadline: () => new SchedError('SCHED_DATABASE_UNREACHABLE', `${what} had no answer within ${deadlineMs} ms.`, { remedy: 'Check host, port and network, and that the pool has a free connection.', details: { deadlineMs } }),
  })
}

function translated(what: string, thrown: unknown, options: ReachOptions): SchedError {
  const { url } = options
  const error = asError(thrown)
  const shown = url === undefined ? error.message : redactSecrets(error.message, url)
  // A message that quotes the password must not survive as the cause either.
  const cause = shown === error.message ? error : new Error(shown)
  const errorClass = options.classify(thrown)
  if (errorClass !== 'connection-lost') return classifiedError(errorClass, what, cause)
  return new SchedError('SCHED_DATABASE_UNREACHABLE', `${what} failed: ${shown || error.name}.`, {
    cause, remedy: 'Check that the server runs and that host and port in the URL are right.', details: { errorClass },
  })
}

/** Opens a session under guard. One that comes too late is destroyed. @throws SchedError as `reachDatabase` */
export async function openGuarded<S extends Destroyable>(label: string, open: (signal: AbortSignal) => Promise<S>, options: ReachOptions): Promise<GuardedSession<S>> {
  const { clock } = options
  const raw = await reachDatabase(`opening the ${label} session`, async (signal) => {
    const session = await open(signal)
    if (signal.aborted) session.destroy()
    return session
  }, options)
  return new GuardedSession(raw, { clock, label, classify: (error) => options.classify(error) })
}
