import { SchedError, asError } from '../errors.ts'
import { applicationFolders } from '../dialect/find-module.ts'
import type { NodeLease, NodeLeaseOptions, NodeLife } from '../executor/node-lease.ts'
import type { TaskDefinition } from '../executor/task-definition.ts'
import type { Veto } from '../executor/veto.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { retireNode } from '../ledger/nodes.ts'
import type { LockProbe, Probe } from '../spi/probe.ts'
import { sleep } from '../time/wait.ts'
import { LeaseMemory } from './lease-memory.ts'
import { Liveness } from './liveness.ts'
import type { Notice, ThreadData } from './protocol.ts'
import { SharedLife } from './shared-life.ts'
import { ThreadLink } from './thread-link.ts'
import { ThreadVeto } from './thread-veto.ts'
import { fromWire, toWire } from './wire-error.ts'

export interface WorkerLeaseOptions extends Omit<NodeLeaseOptions, 'pulse' | 'ledger' | 'random' | 'beforeBeat' | 'mustEnd'> {
  readonly ledger: Ledger
  readonly url: string
  readonly probe: Probe
  readonly veto: { readonly probe: LockProbe } | undefined
  readonly abortGraceMs: number
  readonly onLockSessionLost: (error: Error) => void
}

type Beat = Extract<Notice, { kind: 'beat' }>

const firstPauseMs = 50
const endGraceMs = 2000
/** For the thread itself and its first connection; the statements that follow have limits of their own. */
const startMs = 20_000

/**
 * The node's lease kept by a worker thread, as the main thread sees it: judged here by shared memory, whatever this event loop does.
 * A thread that ends loses the lease and its locks, and another is started.
 */
export class WorkerLease implements Pick<NodeLease, 'life' | 'start' | 'sampleClock' | 'beatSoon' | 'stop'> {
  readonly veto: Veto
  readonly #options: WorkerLeaseOptions
  readonly #vetoes: ThreadVeto
  readonly #liveness: Liveness
  readonly #data: ThreadData
  readonly #stop = new AbortController()
  /** The longest one call to the database may take in the thread. */
  readonly #callMs: number
  #link: ThreadLink | undefined
  #life: SharedLife | undefined
  #restarting: Promise<void> | undefined
  /** Threads that ended since the last heartbeat. */
  #failures = 0

  constructor(options: WorkerLeaseOptions) {
    this.#options = options
    const { clock, leaseMs, heartbeatMs, marginMs, abortGraceMs, url, ledger: { namespace, tables }, probe, veto, node } = options
    this.#callMs = 2 * Math.max(500, heartbeatMs)
    this.#liveness = new Liveness({ clock, leaseMs, abortGraceMs })
    this.#vetoes = this.veto = new ThreadVeto({ clock, leaseMs, link: () => this.#open, onError: (error) => options.onLockSessionLost(error) })
    this.#data = { url, folders: applicationFolders(), namespace, tables, probe, veto: veto?.probe, leaseMs, heartbeatMs, marginMs, node, liveness: this.#liveness.buffer }
  }

  get life(): NodeLife {
    if (this.#life === undefined) throw new RangeError('the node is not registered yet')
    return this.#life
  }

  /** The same tasks, each with its deadline known to the thread while it runs. */
  watched(definitions: readonly TaskDefinition[]): readonly TaskDefinition[] { return definitions.map((definition) => this.#liveness.watched(definition)) }

  /** @throws SchedError what the database says to the thread, or why the thread has ended */
  start(): Promise<void> { return this.#startThread() }

  async sampleClock(): Promise<void> { await this.#open.call('sample', {}, this.#callMs + 1000) }

  beatSoon(): void { if (this.#link?.ended === undefined) this.#link?.post({ kind: 'beat-soon' }) }

  async stop(retire: boolean): Promise<void> {
    this.#stop.abort()
    // A start that is under way is given up: what it has not told us lapses by itself.
    if (this.#restarting !== undefined) await this.#link?.end(0)
    await this.#restarting
    try {
      await this.#leave(retire)
    } finally {
      await this.#link?.end(endGraceMs)
      this.#life?.lose(new SchedError('SCHED_STOPPED', 'the scheduler has stopped.'))
    }
  }

  get #open(): ThreadLink {
    const link = this.#link
    if (link === undefined || link.ended !== undefined) throw link?.ended ?? new SchedError('SCHED_LEASE_LOST', 'the worker thread of the pulse has not been started.')
    return link
  }

  async #startThread(): Promise<void> {
    const { clock } = this.#options
    let sampled = false
    const link: ThreadLink = new ThreadLink({
      data: this.#data, clock, onTurn: () => this.#liveness.turned(), onEnded: (error) => this.#onEnded(link, error),
      onNotice: (notice) => {
        // Another thread knows nothing of what the one before it had measured.
        if (notice.kind === 'sample' && !sampled) { sampled = true; this.#options.databaseClock.reset() }
        this.#receive(link, notice)
      },
    })
    this.#link = link
    await link.call('start', {}, startMs + 7 * this.#callMs)
  }

  #receive(link: ThreadLink, notice: Notice): void {
    const { databaseClock, onError, onLockSessionLost } = this.#options
    switch (notice.kind) {
      case 'registered': return this.#registered(link, notice.nodeId, new LeaseMemory(notice.memory))
      case 'beat': return this.#beaten(notice)
      case 'beat-failed': return onError(fromWire(notice.error))
      case 'life-lost': return this.#life?.nodeId === notice.nodeId ? this.#life.lose(fromWire(notice.error) as SchedError) : undefined
      case 'veto-lost': return this.#vetoes.lost(link, notice.hold, fromWire(notice.error))
      case 'lock-session-lost': return onLockSessionLost(fromWire(notice.error))
      case 'sample': return databaseClock.add(notice.sample)
      case 'clock-reset': return databaseClock.reset()
      case 'ask': return undefined
    }
  }

  #registered(link: ThreadLink, nodeId: string, memory: LeaseMemory): void {
    const { clock, leaseMs, marginMs, onLost, onRegistered } = this.#options
    const life = new SharedLife(clock, memory, nodeId, leaseMs - marginMs)
    this.#life = life
    life.onLost((reason) => {
      // Judged here first: what is over must not be renewed.
      if (link.ended === undefined) link.post({ kind: 'lost', nodeId, error: toWire(reason) })
      if (!this.#stop.signal.aborted) onLost(life)
    })
    onRegistered(life)
  }

  #beaten({ nodeId, beat }: Beat): void {
    const life = this.#life
    if (this.#stop.signal.aborted || life === undefined || life.nodeId !== nodeId || life.judge() !== undefined) return
    this.#failures = 0
    const { leaseMs, marginMs, onBeat } = this.#options
    const elapsedMs = leaseMs - marginMs - life.leftMs()
    onBeat(beat, { elapsedMs: () => elapsedMs })
  }

  #onEnded(link: ThreadLink, error: SchedError): void {
    this.#life?.lose(error)
    this.#vetoes.ended(link, error)
    // Whoever is starting it is told by the call that failed.
    if (this.#life === undefined || this.#restarting !== undefined || this.#stop.signal.aborted) return
    this.#options.onError(error)
    this.#restarting = this.#restart().finally(() => { this.#restarting = undefined })
  }

  /** Until a thread has started or the scheduler stops; soon, but not in a storm. */
  async #restart(): Promise<void> {
    const { clock, heartbeatMs, onError } = this.#options
    const { signal } = this.#stop
    for (let running = false; !running && !signal.aborted;) {
      const pauseMs = Math.min(heartbeatMs, firstPauseMs * 2 ** Math.min(this.#failures, 10))
      this.#failures += 1
      await sleep(clock, pauseMs, signal).catch((error: unknown) => { if (!signal.aborted) throw error })
      if (signal.aborted) return
      try {
        // Its attempts are aborted already, so nothing is gained by letting the old lease run out.
        await this.#retire()
        await this.#startThread()
        running = true
      } catch (thrown) {
        if (!signal.aborted) onError(asError(thrown))
        await this.#abandon()
      }
    }
  }

  /** A thread that could not start is ended. */
  async #abandon(): Promise<void> {
    const link = this.#link
    if (link === undefined || link.ended !== undefined) return
    await link.end(0)
  }

  /** Heartbeat last. A thread that cannot retire the node any more leaves it to this one. */
  async #leave(retire: boolean): Promise<void> {
    const link = this.#link
    if (link !== undefined && link.ended === undefined) {
      try {
        await link.call('stop', { retire }, 2 * this.#callMs + 1000)
        return
      } catch (error) {
        if (link.ended === undefined) throw error
      }
    }
    if (retire) await this.#retire()
  }

  async #retire(): Promise<void> {
    const { ledger } = this.#options
    if (this.#life !== undefined) await ledger.store.run('retiring the lost node', retireNode(ledger, this.#life.nodeId))
  }
}
