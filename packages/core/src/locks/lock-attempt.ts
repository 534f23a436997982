import type { LockCapabilities } from '../spi/capabilities.ts'
import type { LockConnection, LockHolding, LockRequest, LockStrategy } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { startStopwatch, type Stopwatch } from '../time/stopwatch.ts'

/** Draws a fencing token for a native lock, on the very session that holds it. */
export type Fence = (connection: LockConnection, request: LockRequest) => Promise<number>

/** What one attempt needs to know. */
export interface AttemptContext {
  readonly strategy: LockStrategy
  readonly kind: LockCapabilities['kind']
  readonly clock: Clock
  readonly fence: Fence | undefined
}

/** What is known about a request whose attempts may have failed half way. */
export interface AttemptTrace {
  /** Started when the first statement that may have granted it was sent. */
  firstSent: Stopwatch | undefined
  /** True while the server may hold the lock for a request that has not got it. */
  doubt: boolean
  /** True once the server has said that it granted it. */
  granted: boolean
}

export type AttemptResult =
  /** `sent` belongs to the request that proves the lock. */
  | { readonly granted: true; readonly fencingToken: number | undefined; readonly sent: Stopwatch }
  | { readonly granted: false; readonly sent: Stopwatch }

const holdingOf = (request: LockRequest): LockHolding => ({ name: request.name, owner: request.owner, fencingToken: undefined })

/**
 * One attempt, alone on its connection: ask; when the answer leaves a doubt, look; then draw the token. Rejects with the driver's
 * error; `trace.doubt` says whether something may be left behind on the server.
 * @param waitMs waits inside the server for that long; undefined: never waits
 */
export async function attemptLock(connection: LockConnection, request: LockRequest, context: AttemptContext, trace: AttemptTrace, waitMs?: number): Promise<AttemptResult> {
  const { strategy, kind, clock, fence } = context
  // An earlier attempt of this very request may have been granted although its answer was lost.
  let result = trace.doubt ? await verify(connection, request, context, trace) : undefined
  if (result?.granted !== true) {
    const sent = startStopwatch(clock)
    trace.firstSent = sent
    trace.doubt = true
    const outcome = waitMs === undefined || strategy.lock === undefined
      ? await strategy.tryLock(connection, request)
      : await strategy.lock(connection, request, waitMs)
    if (outcome.status === 'indeterminate') result = await verify(connection, request, context, trace)
    else if (outcome.status === 'refused') result = { granted: false, sent }
    else result = { granted: true, fencingToken: outcome.fencingToken, sent }
  }
  if (!result.granted) { trace.doubt = false; return result }
  trace.granted = true
  if (waitMs !== undefined && kind === 'session') {
    // The wait must not eat the lease: the session proves itself once more, and the lease counts from that.
    const sent = startStopwatch(clock)
    const { lost } = await strategy.refresh(connection, [holdingOf(request)], request.leaseMs)
    if (lost.includes(request.owner)) { trace.doubt = false; return { granted: false, sent } }
    result = { ...result, sent }
  }
  const fencingToken = fence === undefined ? result.fencingToken : await fence(connection, request)
  trace.doubt = false
  return { ...result, fencingToken }
}

async function verify(connection: LockConnection, request: LockRequest, context: AttemptContext, trace: AttemptTrace): Promise<AttemptResult> {
  const { strategy, kind, clock } = context
  const sent = startStopwatch(clock)
  if (await strategy.isHeld(connection, holdingOf(request)) !== 'mine') return { granted: false, sent }
  // A session's lock is proved by this look. A row's lease runs since the statement that wrote it.
  if (kind === 'session') return { granted: true, fencingToken: undefined, sent }
  const holder = await strategy.inspect(connection, request.name)
  if (holder?.owner !== request.owner) return { granted: false, sent }
  return { granted: true, fencingToken: holder.fencingToken, sent: trace.firstSent ?? sent }
}

/** `doubt`: the server still says it is held, or will not tell. */
export type ReleaseAnswer = 'released' | 'not-held' | 'doubt'

/** Releases on the connection, and looks when the answer leaves a doubt. Rejects with the driver's error. */
export async function releaseOn(connection: LockConnection, holding: LockHolding, strategy: LockStrategy): Promise<ReleaseAnswer> {
  // A second try costs one statement; a session destroyed for nothing costs every lock on it.
  for (let tries = 0; tries < 2; tries += 1) {
    const outcome = await strategy.release(connection, holding)
    if (outcome.status !== 'indeterminate') return outcome.status
    const held = await strategy.isHeld(connection, holding)
    if (held === 'free' || held === 'other') return 'released'
    if (held === 'unknown') return 'doubt'
  }
  return 'doubt'
}
