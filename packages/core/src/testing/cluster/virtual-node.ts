import type { EventName, SchedulerEvents } from '../../executor/events.ts'
import { createScheduler, type Scheduler } from '../../executor/scheduler.ts'
import type { SchedulerOptions } from '../../executor/scheduler-options.ts'
import type { TaskContext } from '../../executor/task-context.ts'
import type { TaskOptions } from '../../executor/task-definition.ts'
import { sleep } from '../../time/wait.ts'
import type { MemoryClient } from '../database/memory-client.ts'
import type { MemoryDialect } from '../database/memory-dialect.ts'
import type { ManualClock } from '../time/manual-clock.ts'
import { recordEvents, type HeardEvent } from './event-record.ts'
import type { RunJournal } from './run-journal.ts'

/** A handler that is told on which node it runs. */
export type VirtualHandler = (context: TaskContext<MemoryClient>, node: VirtualNode) => unknown

export type VirtualSchedulerOptions = Omit<SchedulerOptions<MemoryClient>, 'dialect' | 'url' | 'clock'>

/** One instance of a service: a scheduler, the clock of its process, and its connections to the shared database. */
export class VirtualNode {
  readonly name: string
  /** Counts from 0, over all nodes that were ever made. */
  readonly index: number
  readonly clock: ManualClock
  readonly scheduler: Scheduler<MemoryClient>
  /** The database as this node sees it. */
  readonly dialect: MemoryDialect
  /** What its scheduler said, heartbeats left out. */
  readonly heard: readonly HeardEvent[]
  readonly #journal: RunJournal

  constructor(index: number, clock: ManualClock, dialect: MemoryDialect, journal: RunJournal, options: VirtualSchedulerOptions) {
    this.index = index
    this.name = dialect.host.name
    this.clock = clock
    this.dialect = dialect
    this.#journal = journal
    this.scheduler = createScheduler<MemoryClient>({ signals: false, lockVeto: 'off', random: evenly(index), ...options, dialect, clock })
    this.heard = recordEvents(this.scheduler, () => clock.worldMs())
  }

  /** Registers a task whose runs are written down. */
  task(name: string, options: TaskOptions, handler: VirtualHandler): this {
    this.scheduler.task(name, options, (context) => this.#journal.keep(this.name, context, () => handler(context, this)))
    return this
  }

  /** Waits on the clock of this node, as work that takes time. Rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> { return sleep(this.clock, ms, signal) }

  /** Needs the timeline to go on: `await clock.until(node.start())`, or `cluster.start()`. */
  start(): Promise<void> { return this.scheduler.start() }

  /** Drains. Needs the timeline to go on, as `start`. */
  stop(): Promise<void> { return this.scheduler.stop() }

  /** As SIGSTOP; for ever, or for a time. What its handlers wait for happens after the thaw. */
  freeze(forMs?: number, first?: 'timers' | 'outside'): void { this.dialect.host.freeze(forMs, first) }

  /** As SIGCONT. */
  thaw(first?: 'timers' | 'outside'): void { this.clock.thaw(first) }

  /** As SIGKILL: its connections end, and nothing of it ever happens again. */
  kill(): void { this.dialect.host.kill() }

  get alive(): boolean { return !this.clock.halted }

  events<N extends EventName>(name: N): SchedulerEvents[N][] {
    return this.heard.filter((entry) => entry.name === name).map(({ event }) => event as SchedulerEvents[N])
  }

  /** Errors its scheduler reported; while the database is away there are some. */
  get errors(): readonly Error[] { return this.events('error').map(({ error }) => error) }
}

const goldenRatio = (Math.sqrt(5) - 1) / 2

/** Numbers that are spread over [0, 1), others for each node and the same every time: a failure can be run again. */
function evenly(index: number): () => number {
  let last = index / 7
  return () => (last = (last + goldenRatio) % 1)
}
