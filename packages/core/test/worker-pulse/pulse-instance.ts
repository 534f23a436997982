import { fileURLToPath } from 'node:url'
import { spawnNode, type NodeChild } from '@sched-dev/databases'
import { Cluster } from '../executor/cluster.ts'
import type { EmptyStore } from '../ledger/store-ground.ts'
import type { Command, HandlerConfig, InstanceConfig, JournalLine } from './instance-config.ts'

/** One instance with its pulse on either thread: a child process and its journal. */
export class PulseInstance {
  readonly child: NodeChild

  constructor(config: InstanceConfig) {
    const preload = fileURLToPath(new URL('./seen-threads.ts', import.meta.url))
    this.child = spawnNode(new URL('./instance.ts', import.meta.url), [JSON.stringify(config)], { execArgv: ['--import', preload] })
  }

  get journal(): readonly JournalLine[] { return this.child.lines as unknown as readonly JournalLine[] }

  line(matches: (line: JournalLine) => boolean, timeoutMs = 60_000): Promise<JournalLine> { return this.child.line<JournalLine>(matches, timeoutMs) }

  /** The first start of a first attempt: what it recovers from another just ends. */
  firstStart(): Promise<JournalLine> { return this.line(({ kind, attempt }) => kind === 'start' && attempt === 1, 60_000) }

  started(): Promise<JournalLine> { return this.line(({ kind }) => kind === 'started', 60_000) }

  event(name: string, after = 0): Promise<JournalLine> { return this.line(({ kind, event, at }) => kind === 'event' && event === name && at > after) }

  events(name: string): readonly JournalLine[] { return this.journal.filter(({ kind, event }) => kind === 'event' && event === name) }

  /** What it said of its lease: to be shown when an expectation fails. */
  get story(): string {
    const told = this.journal.filter(({ kind, event = '' }) => kind !== 'event' || /^(node|error|heartbeat.failed|loop|execution)/.test(event))
    return told.map((line) => JSON.stringify(line)).join('\n')
  }

  tell(command: Command): void { this.child.send(command) }

  /** Stops it politely; resolves with its exit code, which it has only when nothing kept the process alive. */
  async stop(): Promise<number | null> {
    this.tell('stop')
    return (await this.child.exited).code
  }
}

/** Short, but long enough that a loaded machine of two cores does not lose it by itself. */
export const lease = { leaseMs: 3_000, heartbeatMs: 500 } as const

export type PulseOptions = InstanceConfig['options']

/** Starts instances on one database with these options; they are killed in the end. */
export class PulseCluster {
  readonly cluster: Cluster
  readonly #instances: PulseInstance[] = []

  constructor(cluster: Cluster) { this.cluster = cluster }

  get url(): string { return urlOf(this.cluster.store) }

  instance(handler: HandlerConfig, options: PulseOptions = {}, task: InstanceConfig['task']['options'] = { everyMs: 1_000 }): PulseInstance {
    const instance = new PulseInstance({ url: this.url, options: { ...lease, pulse: 'worker', ...options }, task: { options: task, handler } })
    this.#instances.push(instance)
    return instance
  }

  async end(): Promise<void> { await Promise.all(this.#instances.map(({ child }) => child.kill())) }
}

export function urlOf({ product, address }: EmptyStore): string { return product === 'SQLite' ? `sqlite:${address}` : address }

/** A scenario of `runTogether` on such instances. */
export function withPulse(run: (pulse: PulseCluster) => Promise<void>): (cluster: Cluster) => Promise<void> {
  return async (cluster) => {
    const pulse = new PulseCluster(cluster)
    try {
      await run(pulse)
    } finally {
      await pulse.end()
    }
  }
}
