import { SchedError, asError } from '../errors.ts'
import { lockName, type LockName } from '../spi/lock-name.ts'
import type { Dialect } from '../spi/dialect.ts'
import { abortError, withDeadline } from '../time/wait.ts'
import { acquireLock } from './acquire-lock.ts'
import type { Holding } from './holding.ts'
import { registryOf } from './holding-registry.ts'
import { createLease, type OwnedLease } from './lease.ts'
import type { LockEvent, LockEventListener } from './lock-events.ts'
import { dialectOf, setUpLocks, type LockSetUp, type SetUpContext } from './lock-set-up.ts'
import { LockSessions } from './lock-sessions.ts'
import { checkLocksOptions, checkWaitMs } from './locks-options.ts'
import type { AcquireOptions, Lease, Locks, LocksOptions, TryAcquireOptions, TryAcquireOutcome } from './locks.ts'
import { untilAborted } from './until-aborted.ts'

const defaultWaitMs = 30_000
const defaultCloseMs = 5_000

/** What the first use makes. */
interface Ready { readonly setUp: LockSetUp; readonly sessions: LockSessions }

/**
 * Locks on a database. Checks the options now; connects at the first use, where an unsafe set-up is refused (P11).
 * @throws SchedError SCHED_OPTION_INVALID, SCHED_NAMESPACE_INVALID, SCHED_DIALECT_UNKNOWN
 */
export function createLocks(given: LocksOptions): Locks {
  const options = checkLocksOptions(given)
  const { clock, random, heartbeatMs, onEvent = warnOnly } = options
  const stop = new AbortController()
  const end = new AbortController()
  const context: SetUpContext = { options, stopped: stop.signal, ended: end.signal, emit: (event) => tell(onEvent, event) }
  const leases = new Map<Holding, OwnedLease>()
  const calls = new Set<Promise<unknown>>()
  let dialect: Promise<Dialect> | undefined
  let ready: Promise<Ready> | undefined
  let sessions: LockSessions | undefined
  let closing: Promise<void> | undefined

  /** Single-flight. A failure is not kept: the next call looks again. */
  const getReady = (): Promise<Ready> => {
    dialect ??= dialectOf(options).catch((error: unknown) => { dialect = undefined; throw error })
    ready ??= dialect.then((found) => setUpLocks(found, context)).then((setUp) => {
      sessions = new LockSessions(setUp, context)
      return { setUp, sessions }
    }).catch((error: unknown) => { ready = undefined; throw error })
    return ready
  }

  /** Everything a caller starts, so that `close` can wait for it. */
  const call = <T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const running = (async () => {
      const either = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
      for (const given of [stop.signal, either, signal]) if (given?.aborted === true) throw abortError(given)
      return work(either)
    })()
    const settled = (): void => { calls.delete(running) }
    calls.add(running)
    running.then(settled, settled)
    return running
  }

  const lend = (holding: Holding): Lease => {
    const owned = createLease(holding)
    leases.set(holding, owned)
    holding.onEnd(() => leases.delete(holding))
    return owned.lease
  }

  const nameOf = (namespace: string, name: string): LockName => lockName(namespace, 'user', name)
  // A bad name is refused before anything is opened; the namespace may not be known yet.
  const checkName = (name: string): unknown => nameOf(options.namespace ?? 'unknown', name)

  const tryAcquire = (name: string, { signal: given }: TryAcquireOptions = {}): Promise<TryAcquireOutcome> => call(async (signal) => {
    checkName(name)
    const { setUp, sessions } = await untilAborted(getReady(), signal)
    const canonical = nameOf(setUp.namespace, name)
    const reservation = registryOf(setUp.source).tryReserve(canonical.canonical, setUp.maxLocks)
    if (reservation === undefined) return { status: 'refused' }
    let holding: Holding | undefined
    try {
      holding = await sessions.claim(reservation, canonical, signal)
    } finally {
      if (holding === undefined) reservation.free()
    }
    return holding === undefined ? { status: 'refused' } : { status: 'acquired', lease: lend(holding) }
  }, given)

  const acquire = (name: string, { waitMs = defaultWaitMs, signal: given }: AcquireOptions = {}): Promise<Lease> => call(async (signal) => {
    checkName(name)
    checkWaitMs(waitMs)
    const { setUp, sessions } = await untilAborted(getReady(), signal)
    const { source, capabilities, maxLocks } = setUp
    const supportsWait = capabilities.serverSideWait && source.strategy.lock !== undefined
    return lend(await acquireLock({ sessions, registry: registryOf(source), supportsWait, maxLocks, sliceMs: heartbeatMs, clock, random }, nameOf(setUp.namespace, name), waitMs, signal))
  }, given)

  const close = async (deadlineMs: number): Promise<void> => {
    const reason = new SchedError('SCHED_STOPPED', 'the locks have been closed.')
    stop.abort(reason)
    const endsAt = clock.monotonicMs() + deadlineMs
    const leftMs = (): number => Math.max(1, endsAt - clock.monotonicMs())
    const rest = (async () => {
      await Promise.allSettled([...[...leases.values()].map((owned) => owned.end(reason)), ...calls])
      await sessions?.settled()
    })()
    // Whatever has not been given back by then ends with its session, or by its expiry.
    await withDeadline(clock, rest, { deadlineMs: leftMs(), onDeadline: () => reason }).catch((error: unknown) => { if (error !== reason) throw error })
    end.abort(reason)
    sessions?.close(reason)
    if (options.dialect !== undefined || dialect === undefined) return
    const made = await dialect
    await withDeadline(clock, made.close(), {
      deadlineMs: leftMs(), onDeadline: () => new SchedError('SCHED_QUERY_TIMEOUT', `the dialect ${made.name} did not close within ${deadlineMs} ms.`, { remedy: 'Its connections may stay open until the process ends.' }),
    })
  }

  return {
    tryAcquire,
    acquire,
    async with(name, fn, options) {
      const lease = await acquire(name, options)
      let value: Awaited<ReturnType<typeof fn>>
      try {
        value = await fn(lease)
      } catch (error) {
        // What fn threw says more than what became of the lock; a failed release goes to the events.
        await lease.release()
        throw error
      }
      const { status } = await lease.release()
      if (status === 'released') return value
      throw new SchedError('SCHED_LOCK_LOST', `the lock ${JSON.stringify(name)} was lost before the work under it was done, or its release could not be confirmed.`, {
        remedy: 'The work has run to its end, but somebody else may have run beside it: check its effects.', cause: lease.signal.reason, details: { name, owner: lease.owner },
      })
    },
    inspect: (name) => call(async (signal) => {
      checkName(name)
      const { setUp, sessions } = await untilAborted(getReady(), signal)
      if (!setUp.capabilities.inspection) throw new SchedError('SCHED_CAPABILITY_MISSING', `${setUp.source.lockType} cannot tell who holds a lock.`, { remedy: 'Use a lock table if you need to know.' })
      return sessions.inspect(nameOf(setUp.namespace, name), signal)
    }),
    list: () => [...leases.keys()].map(({ name, owner, fencingToken, sessionId }) => ({ name: name.name, owner, fencingToken, sessionId })),
    close: ({ deadlineMs = defaultCloseMs } = {}) => closing ??= close(deadlineMs),
    [Symbol.asyncDispose]: () => closing ??= close(defaultCloseMs),
  }
}

/** A listener that throws must not end a heartbeat. */
function tell(listener: LockEventListener, event: LockEvent): void {
  try {
    listener(event)
  } catch (thrown) {
    process.emitWarning(`the onEvent listener threw at ${event.kind}: ${asError(thrown).message}`, { type: 'SchedWarning' })
  }
}

/** A person should know of a warning even where nobody listens. */
function warnOnly(event: LockEvent): void {
  if (event.kind === 'lock.warning') process.emitWarning(`${event.finding.message} ${event.finding.remedy}`, { type: 'SchedWarning', code: event.finding.code })
}
