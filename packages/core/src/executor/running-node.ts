import { asError, type SchedError } from '../errors.ts'
import type { Heartbeat } from '../ledger/heartbeat.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { pruneNodes, zoneDataOf } from '../ledger/nodes.ts'
import { sweep } from '../ledger/sweep.ts'
import { readTasks, registerTasks, touchRegistry } from '../ledger/tasks.ts'
import { ownerLabel } from '../session/owner-label.ts'
import { retryPatiently } from '../session/retry-transient.ts'
import { safetyMarginMs } from '../session/safety-margin.ts'
import { EventLoopWatch } from '../telemetry/event-loop-lag.ts'
import { systemClock } from '../time/clock.ts'
import type { Stopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import { threadClock } from '../worker-pulse/thread-clock.ts'
import { WorkerLease } from '../worker-pulse/worker-lease.ts'
import { CarriedDefinitions } from './carried-definitions.ts'
import { DatabaseClock } from './database-clock.ts'
import { Dispatcher } from './dispatcher.ts'
import type { Events } from './events.ts'
import type { Executor } from './executor.ts'
import { LockVeto } from './lock-veto.ts'
import { NodeLease, type NodeLife } from './node-lease.ts'
import { NodeSessions } from './node-sessions.ts'
import type { PreparedNode } from './prepare-node.ts'
import { createOperations, type Operations } from './operations.ts'
import { obeyCancels, requestCancel } from './request-cancel.ts'
import { Retention } from './retention.ts'
import type { CheckedOptions } from './scheduler-options.ts'
import type { TaskDefinition } from './task-definition.ts'
import { recoveryRule, registrationOf } from './task-spec.ts'
import { Workers } from './workers.ts'
import { zoneDataFinding } from './zone-data-finding.ts'

/** A scheduler between start and stop: the node's lease, its sweep, its dispatcher, and the order in which they end. */
export class RunningNode {
  readonly #options: CheckedOptions<never>
  readonly #events: Events
  readonly #versions: string
  readonly #definitions: readonly TaskDefinition[]
  readonly #sessions: NodeSessions
  readonly #ledger: Ledger
  readonly #lease: NodeLease | WorkerLease
  readonly #executor: Executor
  readonly #workers: Workers
  readonly #dispatcher: Dispatcher
  readonly #databaseClock: DatabaseClock
  readonly #interrupt = new AbortController()
  readonly #owners = new Map<string, { readonly gated: boolean }>()
  readonly #carried: CarriedDefinitions
  readonly #retention: Retention
  readonly #loop = new EventLoopWatch()
  #carrying: Promise<void> | undefined
  #registry: string | undefined
  #sweeping: Promise<void> | undefined
  #resampling: Promise<void> | undefined
  #missedBeats = false
  #blockTold = false
  #zoneDataTold = false
  #stopping = false
  /** The life under which the tasks were registered last. */
  #registeredAs: string | undefined
  #registering: Promise<void> | undefined
  readonly #inBackground = new Set<Promise<void>>()

  constructor(prepared: PreparedNode, definitions: readonly TaskDefinition[], options: CheckedOptions<never>, events: Events, versions: string) {
    const { store, tables, namespace } = prepared
    this.#options = options
    this.#events = events
    this.#versions = versions
    this.#databaseClock = new DatabaseClock(options.clock)
    const onLockSessionLost = (error: Error): void => this.#error(error, 'the session of the veto locks')
    this.#sessions = new NodeSessions({ ...prepared, options, onLockSessionLost })
    this.#ledger = { namespace, tables, sql: store.sql, overrides: store.overrides ?? {}, store: this.#sessions.store }
    this.#carried = new CarriedDefinitions(this.#ledger, definitions)
    const { clock, random, leaseMs, heartbeatMs } = options
    const leaseOptions = {
      ledger: this.#ledger, clock, databaseClock: this.#databaseClock, leaseMs, heartbeatMs,
      marginMs: safetyMarginMs(leaseMs, prepared.clockUncertaintyMs),
      node: { label: ownerLabel(), revision: options.revision, versions },
      onBeat: (beat: Heartbeat, sent: Stopwatch) => { this.#sessions.renewed(sent); this.#onBeat(beat) },
      onLost: (life: NodeLife) => this.#onLost(life),
      onRegistered: (life: NodeLife) => { events.emit('node.registered', { nodeId: life.nodeId }); this.#tellBlock(life.nodeId, this.#loop.longestMs) },
      onError: (error: Error) => { this.#missedBeats = true; events.emit('heartbeat.failed', { nodeId: this.nodeId, error }); this.#error(error, 'the heartbeat') },
    }
    const worker = options.pulse === 'main' ? undefined : new WorkerLease({
      ...leaseOptions, url: options.url as string, probe: prepared.probe, veto: prepared.veto, abortGraceMs: options.abortGraceMs, onLockSessionLost,
    })
    const lease = worker ?? new NodeLease({ ...leaseOptions, random, pulse: this.#sessions.pulse, beforeBeat: () => this.#sessions.judgeLocks() })
    this.#lease = lease
    this.#definitions = worker?.watched(definitions) ?? definitions
    const executor: Executor = {
      ledger: this.#ledger, clock, random, databaseClock: this.#databaseClock, events, leaseMs, heartbeatMs, abortGraceMs: options.abortGraceMs,
      get life() { return lease.life },
      veto: prepared.veto === undefined ? undefined : worker?.veto ?? new LockVeto(namespace, () => this.#sessions.lockSession()),
      owners: this.#owners, running: new Map(), interrupt: this.#interrupt.signal,
      transactionBudgetMs: store.transactionBudget === undefined ? undefined : store.transactionBudget * leaseMs,
      openTransaction: () => this.#sessions.openTransaction(),
    }
    this.#executor = executor
    this.#retention = new Retention(executor, definitions, options.retentionMs)
    this.#workers = new Workers({ concurrency: options.concurrency, maxQueued: options.maxQueued, full: options.full, onAbort: (error) => this.#error(error, 'the local workers') })
    this.#dispatcher = new Dispatcher(executor, this.#workers, { onUnregistered: () => lease.beatSoon(), register: () => this.#registerTasks(), resample: () => this.#resample() })
  }

  get nodeId(): string { return this.#lease.life.nodeId }

  /** What a person may do, with this node obeying at once. */
  get operations(): Operations {
    const { veto } = this.#executor
    return createOperations(this.#ledger, {
      changed: async () => {
        await this.#dispatcher.reload()
        this.#dispatcher.lookSoon()
      },
      cancel: (executionId) => requestCancel(this.#executor, executionId, 'cancelled by hand'),
      lockHolder: veto && ((task) => veto.holder(task)),
    })
  }

  /** Registers node and tasks, settles what was missed, and arms the plan. Ends what it began when it fails. */
  async start(): Promise<void> {
    try {
      // On another clock (a test's) the loop says nothing about the node.
      if (this.#options.clock === systemClock || this.#options.clock === threadClock) this.#loop.start()
      await this.#lease.start()
      const { clock, random } = this.#options
      // Before anything fires: a first tick that has trouble of its own must not fail the start.
      const rows = await retryPatiently(async () => {
        await pruneNodes(this.#ledger)
        await this.#registerTasks()
        await this.#sweep()
        return readTasks(this.#ledger)
      }, { clock, random })
      this.#dispatcher.arm(this.#definitions, rows)
      this.#dispatcher.timeLost()
    } catch (error) {
      this.#dispatcher.stopClaims()
      await this.#leave(true)
      throw error
    }
  }

  /**
   * Timers, claims, drain, abort, record `interrupted`, release, heartbeat last, close: in this order. A heartbeat that ended before
   * the handlers would hand their work to another instance. Returns how many handlers ignored their signal.
   */
  async stop(): Promise<number> {
    const { drainMs, abortGraceMs, heartbeatMs } = this.#options
    this.#stopping = true
    this.#dispatcher.stopClaims()
    const drained = this.#dispatcher.drained()
    if (!await this.#within(drained, drainMs)) {
      this.#interrupt.abort()
      await this.#within(drained, abortGraceMs + Math.max(1000, heartbeatMs))
    }
    const unsettled = this.#dispatcher.unsettled
    // With a handler still running the node must not be declared dead: its gates stay until its lease runs out.
    await this.#leave(unsettled === 0)
    return unsettled
  }

  async #leave(retire: boolean): Promise<void> {
    try {
      await this.#lease.stop(retire)
    } catch (thrown) {
      this.#error(asError(thrown), 'retiring the node')
    } finally {
      await this.#within(Promise.all(this.#inBackground).then(() => undefined), Math.max(1000, this.#options.heartbeatMs))
      this.#loop.stop()
      this.#sessions.close()
    }
  }

  async #within(work: Promise<void>, limitMs: number): Promise<boolean> {
    const waited = new AbortController()
    try {
      return await Promise.race([work.then(() => true), sleep(this.#options.clock, limitMs, waited.signal).then(() => false)])
    } finally {
      waited.abort()
    }
  }

  #onBeat(beat: Heartbeat): void {
    this.#tellBeat(beat)
    this.#dispatcher.clockRead()
    // Kept once it has been obeyed: a reload that failed is due again at the next beat.
    if (this.#registry !== beat.registry) this.#background(this.#dispatcher.reload().then(() => { this.#registry = beat.registry }), 'reading the tasks')
    if (beat.orphans > 0 || this.#unknown(beat)) this.#background(this.#sweep(), 'the sweep')
    if (this.#retention.due) this.#background(this.#retention.run(() => this.#stopping), 'deleting old executions')
    if (beat.cancels > 0) this.#background(obeyCancels(this.#executor), 'obeying a cancellation')
    if (this.#carried.due(beat.uncarried)) this.#background(this.#carry(), 'looking after definitions')
    // While it was away, a lower revision may have taken over what nobody seemed to carry.
    if (this.#registeredAs !== undefined && this.#registeredAs !== this.nodeId) this.#background(this.#registerAgain(), 'registering the tasks again')
    this.#dispatcher.told(beat)
    if (this.#missedBeats) {
      this.#missedBeats = false
      this.#dispatcher.timeLost()
    }
  }

  #tellBeat({ dbNow, nearestDueAt, otherZoneData }: Heartbeat): void {
    const { leaseMs, heartbeatMs, concurrency } = this.#options
    const loopLag = this.#loop.take()
    this.#tellBlock(this.nodeId, loopLag.maxMs)
    this.#blockTold = false
    this.#tellZoneData(otherZoneData)
    this.#events.emit('heartbeat', {
      nodeId: this.nodeId, dbNow, leaseMs, heartbeatMs, clockOffsetMs: this.#databaseClock.offsetMs(), uncertaintyMs: this.#databaseClock.uncertaintyMs(),
      overdueMs: Math.max(0, dbNow - (nearestDueAt ?? dbNow)), otherZoneData, workers: { busy: this.#workers.busy, waiting: this.#workers.waiting, limit: concurrency }, loopLag,
    })
  }

  /** Once each time it begins: in a deployment that brings another Node it comes and goes. */
  #tellZoneData(others: number): void {
    if (others > 0 && !this.#zoneDataTold) this.#events.emit('warning', { finding: zoneDataFinding(others, zoneDataOf(this.#versions)) })
    this.#zoneDataTold = others > 0
  }

  /** Once per block: at the new life that a lost lease brings, or at the next heartbeat. */
  #tellBlock(nodeId: string, blockedMs: number): void {
    const { leaseMs } = this.#options
    if (blockedMs < leaseMs || this.#blockTold) return
    this.#blockTold = true
    this.#events.emit('loop.blocked', { nodeId, blockedMs, leaseMs })
  }

  #onLost(life: NodeLife): void {
    this.#missedBeats = true
    this.#events.emit('node.lost', { nodeId: life.nodeId, reason: life.judge() as SchedError })
  }

  /** The ledger has more under this node's id than its memory: the answer to a start, or to a finish, was lost. */
  #unknown({ running, gates }: Heartbeat): boolean {
    const gated = [...this.#owners.values()].filter((owner) => owner.gated).length
    return running > this.#executor.running.size || gates > gated
  }

  async #registerTasks(): Promise<void> {
    const { nodeId } = this
    const outcomes = await registerTasks(this.#ledger, this.#definitions.map(registrationOf), { nodeId, revision: this.#options.revision, again: this.#registeredAs !== undefined })
    this.#registeredAs = nodeId
    for (const [task, outcome] of outcomes) if (outcome === 'superseded') this.#events.emit('definition.superseded', { task })
  }

  /** Single-flight; tried at each heartbeat of the new life until it succeeds. */
  #registerAgain(): Promise<void> {
    this.#registering ??= this.#registerTasks().then(() => this.#dispatcher.reload()).finally(() => { this.#registering = undefined })
    return this.#registering
  }

  /** Single-flight: dead nodes, orphaned rows and gates; what it freed is started at once. */
  #sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepOnce().finally(() => { this.#sweeping = undefined })
    return this.#sweeping
  }

  async #sweepOnce(): Promise<void> {
    const { recovered, blocked } = await sweep(this.#ledger, { nodeId: this.nodeId, owners: () => new Set(this.#owners.keys()), rule: recoveryRule })
    for (const { executionId, taskName, fireTime, state, crashCount, errorCode, stalled } of recovered) {
      this.#events.emit('execution.recovered', { executionId, task: taskName, fireTime, state, crashCount, errorCode })
      if (stalled) this.#events.emit('task.stalled', { task: taskName, reason: `execution ${executionId} crashed` })
    }
    if (recovered.some(({ stalled }) => stalled)) await touchRegistry(this.#ledger, 'change')
    if (blocked.length > 0) this.#events.emit('recovery.blocked', { what: blocked })
    if (recovered.length > 0) this.#dispatcher.lookSoon()
  }

  #carry(): Promise<void> {
    this.#carrying ??= this.#carryOnce().finally(() => { this.#carrying = undefined })
    return this.#carrying
  }

  async #carryOnce(): Promise<void> {
    if (await this.#carried.look({ nodeId: this.nodeId, revision: this.#options.revision })) await this.#dispatcher.reload()
  }

  #resample(): Promise<void> {
    this.#resampling ??= this.#lease.sampleClock().finally(() => { this.#resampling = undefined })
    return this.#resampling
  }

  /** Off the beat, and waited for at the end; its errors are events. */
  #background(work: Promise<void>, where: string): void {
    const settled: Promise<void> = work.catch((error: unknown) => this.#error(asError(error), where)).finally(() => { this.#inBackground.delete(settled) })
    this.#inBackground.add(settled)
  }

  #error(error: Error, where: string): void { this.#events.emit('error', { error, where }) }
}
