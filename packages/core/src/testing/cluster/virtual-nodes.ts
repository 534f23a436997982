import type { Faults } from '../faults/faults.ts'
import { memoryDialect, type MemoryDatabase, type MemoryDialectOptions } from '../database/memory-dialect.ts'
import { manualClock, type ManualClock, type ManualClockOptions } from '../time/manual-clock.ts'
import { readLedger, type LedgerEntry } from './ledger-entry.ts'
import { RunJournal, type Run } from './run-journal.ts'
import { VirtualNode, type VirtualSchedulerOptions } from './virtual-node.ts'

export interface VirtualNodesOptions {
  /** Registers the whole schedule, on each node. */
  readonly tasks: (node: VirtualNode) => void
  /** What the world's time is at first. Default 2030-01-01T00:00:00Z. */
  readonly startAt?: ManualClockOptions['startAt']
  /** The database that they share. */
  readonly database?: Omit<MemoryDialectOptions, 'clock'>
  /** How each node's clock departs from the world's time. Default: not at all. */
  readonly clocks?: (index: number) => Omit<ManualClockOptions, 'startAt'>
  /** Options of the schedulers. Namespace `test`, no signals, no veto, jitter that is the same every time, unless said otherwise. */
  readonly scheduler?: VirtualSchedulerOptions | ((index: number) => VirtualSchedulerOptions)
}

/** A cluster in one process: N schedulers, each with a clock and connections of its own, on one database in memory. */
export interface VirtualNodes {
  /** All that were ever made, the dead included. */
  readonly nodes: readonly VirtualNode[]
  /** The world's clock, which belongs to no node. */
  readonly clock: ManualClock
  readonly database: MemoryDatabase
  readonly faults: Faults
  /** Starts the nodes that have not been started, all at once. Rejects with the first failure. */
  start(): Promise<void>
  /** Goes on, node by node and timer by timer. */
  advance(ms: number): Promise<void>
  /** Goes on to an instant of the world's time. */
  advanceTo(instant: Date | string): Promise<void>
  /** One more node, not started. */
  add(): VirtualNode
  /** The calls of the handlers, of one task or of all, in order. */
  runs(task?: string): readonly Run[]
  /** The rows of the ledger, of one task or of all, by fire time. */
  ledger(task?: string): readonly LedgerEntry[]
  /** Drains every node that lives; frozen ones are thawed. */
  stop(): Promise<void>
}

const namespace = 'test'

/** @param count how many nodes to begin with */
export function virtualNodes(count: number, options: VirtualNodesOptions): VirtualNodes {
  const clock = manualClock(options.startAt === undefined ? {} : { startAt: options.startAt })
  const observer = memoryDialect({ ...options.database, clock })
  const journal = new RunJournal(() => clock.worldMs())
  const nodes: VirtualNode[] = []
  const started = new Set<VirtualNode>()
  const schedulerOptions = (index: number): VirtualSchedulerOptions => ({ namespace, ...(typeof options.scheduler === 'function' ? options.scheduler(index) : options.scheduler) })

  const add = (): VirtualNode => {
    const index = nodes.length
    const own = clock.sibling(options.clocks?.(index))
    const node = new VirtualNode(index, own, observer.connect(`node-${index}`, own), journal, schedulerOptions(index))
    options.tasks(node)
    nodes.push(node)
    return node
  }
  for (let index = 0; index < count; index += 1) add()

  const start = async (): Promise<void> => {
    const fresh = nodes.filter((node) => node.alive && !started.has(node))
    for (const node of fresh) started.add(node)
    await clock.until(Promise.all(fresh.map((node) => node.start())))
  }
  const { namespace: known = namespace, tables = {} } = schedulerOptions(0)
  return {
    nodes, clock, add, start, database: observer.database, faults: observer.faults,
    advance: (ms) => clock.advance(ms),
    advanceTo: async (instant) => clock.advance(new Date(instant).getTime() - clock.worldMs()),
    runs: (task) => (task === undefined ? journal.runs : journal.runs.filter((run) => run.task === task)),
    ledger: (task) => readLedger(observer.database, known, tables, task),
    stop: async () => {
      const living = nodes.filter((node) => node.alive)
      for (const node of living) {
        node.clock.wakeUp()
        node.thaw()
      }
      await clock.until(Promise.all(living.map((node) => node.stop())))
    },
  }
}
