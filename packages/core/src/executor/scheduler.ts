import manifest from '../../package.json' with { type: 'json' }
import { SchedError } from '../errors.ts'
import { resolveDialect, checkScheme } from '../dialect/resolve.ts'
import { describeNext } from '../schedule/describe-next.ts'
import { gapWarnings } from '../schedule/gap-warnings.ts'
import { assertFiresAfter } from '../schedule/schedule.ts'
import type { Dialect } from '../spi/dialect.ts'
import { checkNumbers } from './check-numbers.ts'
import { Events, type EventName, type Listener } from './events.ts'
import type { Operations } from './operations.ts'
import { refuseHasty } from './hasty-schedule.ts'
import { prepareNode } from './prepare-node.ts'
import { RunningNode } from './running-node.ts'
import { checkOptions, type CheckedOptions, type SchedulerOptions } from './scheduler-options.ts'
import { defineTask, type TaskDefinition, type TaskHandler, type TaskOptions } from './task-definition.ts'

export interface Scheduler<TClient = unknown> extends Operations {
  /**
   * Registers a task. Every instance registers the whole schedule, before `start`.
   * @throws SchedError SCHED_TASK_DUPLICATE, SCHED_TASK_NAME_INVALID, SCHED_CRON_SYNTAX, SCHED_CRON_NEVER, SCHED_TIME_ZONE_UNKNOWN, SCHED_OPTION_INVALID
   */
  task(name: string, options: TaskOptions, handler: TaskHandler<TClient>): Scheduler<TClient>
  /** Listens; the result stops listening. */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void
  /**
   * Looks at the database, makes the tables, registers the node and arms the plan.
   * @throws SchedError when the set-up is refused (P11), unreachable, or not permitted
   */
  start(): Promise<void>
  /** Drains: no new claims, running attempts may finish within `drainMs`, then are interrupted. Idempotent. */
  stop(): Promise<void>
}

type Life =
  | { readonly state: 'new' }
  | { readonly state: 'starting' | 'started'; readonly started: Promise<RunningNode> }
  | { readonly state: 'stopped'; readonly stopped: Promise<void> }

/** A schedule of which every instance of a service carries the whole; see `SchedulerOptions`. @throws SchedError SCHED_OPTION_INVALID, SCHED_DIALECT_UNKNOWN */
export function createScheduler<TClient = unknown>(options: SchedulerOptions<TClient>): Scheduler<TClient> {
  return new ClusterScheduler<TClient>(checkOptions(options))
}

/** `Operations` work between start and stop; before and after they reject with SCHED_STOPPED. */
class ClusterScheduler<TClient> implements Scheduler<TClient> {
  readonly #options: CheckedOptions<TClient>
  readonly #events = new Events()
  readonly #tasks = new Map<string, TaskDefinition<TClient>>()
  readonly #giveUp = new AbortController()
  readonly #onSignal = (signal: NodeJS.Signals): void => { void this.#drainOn(signal) }
  #life: Life = { state: 'new' }
  #ownDialect: Dialect | undefined

  constructor(options: CheckedOptions<TClient>) {
    this.#options = options
    if (options.url !== undefined) checkScheme(options.url)
  }

  task(name: string, options: TaskOptions, handler: TaskHandler<TClient>): this {
    if (this.#life.state !== 'new') throw new SchedError('SCHED_OPTION_INVALID', `the task ${JSON.stringify(name)} comes too late: tasks are registered before start().`)
    const { timeZone, dst } = this.#options
    const definition = defineTask(name, options, handler, { timeZone, dst })
    if (this.#tasks.has(name)) throw new SchedError('SCHED_TASK_DUPLICATE', `the task ${JSON.stringify(name)} is registered already.`, { remedy: 'Give each task a name of its own.' })
    refuseHasty(definition, this.#options.heartbeatMs, this.#options.clock.wallMs())
    // The host's clock will do here: it only tells a year in the past from one to come.
    assertFiresAfter(definition.schedule, this.#options.clock.wallMs())
    this.#tasks.set(name, definition)
    return this
  }

  on<N extends EventName>(name: N, listener: Listener<N>): () => void { return this.#events.on(name, listener) }

  async start(): Promise<void> {
    if (this.#life.state === 'stopped') throw new SchedError('SCHED_STOPPED', 'this scheduler has stopped.', { remedy: 'Create another one.' })
    if (this.#life.state === 'new') {
      const started = this.#start()
      this.#life = { state: 'starting', started }
      try {
        await started
      } catch (error) {
        if (this.#life.state === 'starting') this.#life = { state: 'new' }
        throw error
      }
      if (this.#life.state === 'starting') this.#life = { state: 'started', started }
    }
    if (this.#life.state === 'starting' || this.#life.state === 'started') await this.#life.started
  }

  stop(): Promise<void> {
    if (this.#life.state === 'stopped') return this.#life.stopped
    const started = this.#life.state === 'new' ? undefined : this.#life.started
    const stopped = this.#stop(started)
    this.#life = { state: 'stopped', stopped }
    return stopped
  }

  pause(...args: Parameters<Operations['pause']>): ReturnType<Operations['pause']> { return this.#operate((operations) => operations.pause(...args)) }
  resume(...args: Parameters<Operations['resume']>): ReturnType<Operations['resume']> { return this.#operate((operations) => operations.resume(...args)) }
  trigger(...args: Parameters<Operations['trigger']>): ReturnType<Operations['trigger']> { return this.#operate((operations) => operations.trigger(...args)) }
  cancel(...args: Parameters<Operations['cancel']>): ReturnType<Operations['cancel']> { return this.#operate((operations) => operations.cancel(...args)) }
  retry(...args: Parameters<Operations['retry']>): ReturnType<Operations['retry']> { return this.#operate((operations) => operations.retry(...args)) }
  reschedule(...args: Parameters<Operations['reschedule']>): ReturnType<Operations['reschedule']> { return this.#operate((operations) => operations.reschedule(...args)) }
  explain(...args: Parameters<Operations['explain']>): ReturnType<Operations['explain']> { return this.#operate((operations) => operations.explain(...args)) }
  tasks(): ReturnType<Operations['tasks']> { return this.#operate((operations) => operations.tasks()) }
  executions(...args: Parameters<Operations['executions']>): ReturnType<Operations['executions']> { return this.#operate((operations) => operations.executions(...args)) }
  locks(...args: Parameters<Operations['locks']>): ReturnType<Operations['locks']> { return this.#operate((operations) => operations.locks(...args)) }

  async #operate<T>(work: (operations: Operations) => Promise<T>): Promise<T> {
    if (this.#life.state === 'new' || this.#life.state === 'stopped') throw new SchedError('SCHED_STOPPED', 'the scheduler is not running.', { remedy: 'Start it first; the `sched` command needs no running instance.' })
    return work((await this.#life.started).operations)
  }

  async #start(): Promise<RunningNode> {
    const options = this.#options as CheckedOptions<never>
    const dialect: Dialect = options.dialect ?? (this.#ownDialect ??= await resolveDialect(options.url as string))
    if (dialect.store === undefined) throw new SchedError('SCHED_CAPABILITY_MISSING', `the dialect ${dialect.name} has locks but no store.`, { remedy: 'Give createScheduler a database for the ledger.' })
    const prepared = await prepareNode(dialect, options, this.#giveUp.signal, (finding) => this.#events.emit('warning', { finding }))
    const definitions = [...this.#tasks.values()] as TaskDefinition[]
    const numbers = { ...options, clockUncertaintyMs: prepared.clockUncertaintyMs, poolLimit: prepared.probe.poolLimit }
    for (const finding of checkNumbers(definitions, numbers, options.clock.wallMs())) this.#events.emit('warning', { finding })
    const node = new RunningNode(prepared, definitions, options, this.#events, versions(options.heartbeatMs))
    await node.start()
    for (const signal of options.signals === false ? [] : options.signals) process.on(signal, this.#onSignal)
    const plan = this.#plan()
    for (const line of plan) options.log?.(line)
    this.#events.emit('started', { nodeId: node.nodeId, namespace: prepared.namespace, plan, tasks: [...this.#tasks.keys()] })
    return node
  }

  async #stop(started: Promise<RunningNode> | undefined): Promise<void> {
    const { signals } = this.#options
    // A start that is still under way is given up; its own error has gone to its caller.
    this.#giveUp.abort(new SchedError('SCHED_STOPPED', 'the scheduler was stopped while it started.'))
    const node = await started?.catch(() => undefined)
    const unsettled = await node?.stop() ?? 0
    for (const signal of signals === false ? [] : signals) process.off(signal, this.#onSignal)
    await this.#ownDialect?.close()
    this.#events.emit('stopped', { unsettled })
  }

  /** Drains, then lets the signal do what it does without us, unless somebody else listens to it. */
  async #drainOn(signal: NodeJS.Signals): Promise<void> {
    await this.stop()
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }

  /** Each task's next fire times in its zone and in UTC, and the dates on which it will not run. */
  #plan(): string[] {
    const now = this.#options.clock.wallMs()
    return [...this.#tasks.values()].flatMap(({ name, schedule }) => [describeNext(schedule, name, now), ...gapWarnings(schedule, now).map(({ message }) => `${name}: ${message}`)])
  }
}

/** What this node is made of and how often it looks, for the ledger. */
function versions(heartbeatMs: number): string {
  return JSON.stringify({ core: manifest.version, node: process.versions.node, tzdata: process.versions.tz, heartbeatMs })
}
