import { randomUUID } from 'node:crypto'
import { SchedError, asError } from '../errors.ts'
import { heartbeat, readClock, type Heartbeat } from '../ledger/heartbeat.ts'
import type { Ledger, PulseSession } from '../ledger/ledger.ts'
import { registerNode, retireNode, type NodeRegistration } from '../ledger/nodes.ts'
import { retryPatiently } from '../session/retry-transient.ts'
import type { Clock, Timer } from '../time/clock.ts'
import { startStopwatch, type Stopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import type { DatabaseClock } from './database-clock.ts'

export interface NodeLeaseOptions {
  ledger: Pick<Ledger, 'tables' | 'sql' | 'namespace'>
  pulse: PulseSession
  clock: Clock
  databaseClock: DatabaseClock
  /** Uniform in [0, 1): jitter of pauses. */
  random: () => number
  leaseMs: number
  heartbeatMs: number
  marginMs: number
  node: Omit<NodeRegistration, 'nodeId'>
  /** Right before a heartbeat is sent: what is overdue on the same session must not be kept alive by it. */
  beforeBeat: () => void
  /** Why this node must not be kept alive, asked before each heartbeat: its life ends, and no other begins until the reason has gone. */
  mustEnd?: () => SchedError | undefined
  /** A heartbeat statement sent at `sent` succeeded. */
  onBeat: (beat: Heartbeat, sent: Stopwatch) => void
  /** The life is over; a new one follows as soon as the database answers. */
  onLost: (life: NodeLife) => void
  onRegistered: (life: NodeLife) => void
  onError: (error: Error) => void
}

/**
 * One lease life. A node that lapsed never becomes alive again (I3): it takes a new id. Judged at every look against the moment the
 * last successful heartbeat was *sent*; in doubt it is over (P5).
 */
export class NodeLife {
  readonly nodeId: string
  readonly #goodForMs: number
  readonly #clock: Clock
  readonly #listeners = new Set<(reason: SchedError) => void>()
  #sent: Stopwatch
  #timer: Timer | undefined
  #lost: SchedError | undefined

  constructor(clock: Clock, sent: Stopwatch, goodForMs: number, nodeId: string = randomUUID()) {
    this.nodeId = nodeId
    this.#clock = clock
    this.#sent = sent
    this.#goodForMs = goodForMs
    this.#arm()
  }

  /** Milliseconds until this node must believe its lease over. */
  leftMs(): number { return this.#goodForMs - this.#sent.elapsedMs() }

  judge(): SchedError | undefined {
    if (this.#lost === undefined && this.leftMs() <= 0) {
      this.lose(new SchedError('SCHED_LEASE_LOST', `the lease of this node was not renewed within ${Math.round(this.#goodForMs)} ms.`, {
        remedy: 'The process was frozen, its event loop was blocked, or the database did not answer: another instance may take over.', details: { nodeId: this.nodeId },
      }))
    }
    return this.#lost
  }

  /** False when the answer came after the old deadline: a loss all the same. */
  renew(sent: Stopwatch): boolean {
    if (this.judge() !== undefined) return false
    this.#sent = sent
    this.#arm()
    return true
  }

  lose(reason: SchedError): void {
    if (this.#lost !== undefined) return
    this.#lost = reason
    this.#timer?.cancel()
    for (const listener of [...this.#listeners]) listener(reason)
    this.#listeners.clear()
  }

  /** Calls back once; the result removes the listener. */
  onLost(listener: (reason: SchedError) => void): () => void {
    if (this.#lost !== undefined) listener(this.#lost)
    else this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  #arm(): void {
    this.#timer?.cancel()
    // Only so that the abort event comes without anybody looking; every look judges for itself.
    this.#timer = this.#clock.setTimer(() => { if (this.judge() === undefined) this.#arm() }, Math.max(1, this.leftMs()), { unref: true })
  }
}

const clockSamples = 5

/** The heartbeat loop (statement H): keeps the node's life, samples the clock, and starts a new life after a loss. */
export class NodeLease {
  readonly #options: NodeLeaseOptions
  readonly #stop = new AbortController()
  #life: NodeLife | undefined
  #loop: Promise<void> | undefined
  #wake: (() => void) | undefined
  /** The life that was ended because of `mustEnd`. */
  #ended: NodeLife | undefined

  constructor(options: NodeLeaseOptions) { this.#options = options }

  /** The current life. @throws RangeError before `start` */
  get life(): NodeLife {
    if (this.#life === undefined) throw new RangeError('the node is not registered yet')
    return this.#life
  }

  /** Samples the clock, registers the node and begins to beat. @throws SchedError what the database says */
  async start(): Promise<void> {
    const { clock, random } = this.#options
    const patiently = (step: () => Promise<void>): Promise<void> => retryPatiently(step, { clock, random, signal: this.#stop.signal })
    for (let count = 0; count < clockSamples; count += 1) await patiently(() => this.sampleClock())
    await patiently(() => this.#register())
    this.#loop = this.#run()
  }

  /** Reads the database's clock now, off the beat. */
  async sampleClock(): Promise<void> {
    const { pulse, ledger, clock, databaseClock } = this.#options
    const sentAt = clock.monotonicMs()
    const { rows: [row] } = await pulse.run('reading the clock', readClock(ledger))
    const sample = { sentAt, receivedAt: clock.monotonicMs(), dbNow: row?.['db_now'] as number }
    if (databaseClock.departureMs(sample) > this.#options.marginMs) databaseClock.reset()
    databaseClock.add(sample)
  }

  /** Beats now instead of at the next interval. */
  beatSoon(): void { this.#wake?.() }

  /** Ends the loop. With `retire` the ledger is told, so that nothing waits for the lease to lapse. */
  async stop(retire: boolean): Promise<void> {
    this.#stop.abort()
    await this.#loop
    const { pulse, ledger } = this.#options
    try {
      if (retire && this.#life !== undefined) await pulse.run('retiring the node', retireNode(ledger, this.#life.nodeId))
    } finally {
      this.#life?.lose(new SchedError('SCHED_STOPPED', 'the scheduler has stopped.'))
    }
  }

  async #register(): Promise<void> {
    const { ledger, pulse, clock, leaseMs, marginMs, node } = this.#options
    const sent = startStopwatch(clock)
    const life = new NodeLife(clock, sent, leaseMs - marginMs)
    await pulse.run('registering the node', registerNode(ledger, { ...node, nodeId: life.nodeId }, leaseMs))
    this.#life = life
    life.onLost(() => { if (!this.#stop.signal.aborted) this.#options.onLost(life) })
    this.#options.onRegistered(life)
  }

  async #run(): Promise<void> {
    const { heartbeatMs, onError } = this.#options
    const { signal } = this.#stop
    let failures = 0
    while (!signal.aborted) {
      // After a failure the lease is running out: soon, but not in a storm.
      await this.#pause(failures === 0 ? heartbeatMs : Math.min(heartbeatMs, 50 * 2 ** Math.min(failures - 1, 10)))
      if (signal.aborted) return
      try {
        this.#options.beforeBeat()
        const reason = this.#options.mustEnd?.()
        if (reason !== undefined) await this.#endLife(reason)
        else if (this.life.judge() !== undefined) await this.#newLife()
        else await this.#beat()
        failures = 0
      } catch (thrown) {
        failures += 1
        onError(asError(thrown))
      }
    }
  }

  async #beat(): Promise<void> {
    const { ledger, pulse, clock, databaseClock, leaseMs, heartbeatMs, marginMs, node: { versions }, onBeat } = this.#options
    const { life } = this
    const sent = startStopwatch(clock)
    const request = { nodeId: life.nodeId, leaseMs, clockOffsetMs: databaseClock.offsetMs(), versions, horizonMs: 2 * heartbeatMs }
    const beat = await pulse.block('the heartbeat', async (sql) => ({ commit: true, value: await heartbeat(ledger, request, sql, clock) }))
    if (!beat.alive) return this.#loseLife('the database says that the lease of this node was over')
    const departed = databaseClock.departureMs(beat)
    if (departed > marginMs) {
      databaseClock.reset()
      databaseClock.add(beat)
      return this.#loseLife(`the clock of the database departed by ${Math.round(departed)} ms from the prediction`)
    }
    databaseClock.add(beat)
    if (life.renew(sent)) onBeat(beat, sent)
    else await this.#newLife()
  }

  async #loseLife(why: string): Promise<void> {
    this.life.lose(new SchedError('SCHED_LEASE_LOST', `${why}.`, { details: { nodeId: this.life.nodeId } }))
    await this.#newLife()
  }

  async #endLife(reason: SchedError): Promise<void> {
    const { life } = this
    if (this.#ended === life) return
    life.lose(reason)
    const { pulse, ledger } = this.#options
    // Its holder reads the loss at its next look, so another instance may take over without waiting for the lease.
    await pulse.run('retiring the node', retireNode(ledger, life.nodeId))
    this.#ended = life
  }

  async #newLife(): Promise<void> {
    const { pulse, ledger } = this.#options
    await this.sampleClock()
    // Its attempts are aborted already, so nothing is gained by letting the old lease run out.
    await pulse.run('retiring the lost node', retireNode(ledger, this.life.nodeId))
    await this.#register()
  }

  async #pause(delayMs: number): Promise<void> {
    const { clock } = this.#options
    const pause = new AbortController()
    this.#wake = () => pause.abort(this)
    try {
      await sleep(clock, delayMs, AbortSignal.any([pause.signal, this.#stop.signal]))
    } catch (error) {
      if (!pause.signal.aborted && !this.#stop.signal.aborted) throw error
    } finally {
      this.#wake = undefined
    }
  }
}
