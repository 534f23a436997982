import { setTimeout as sleep } from 'node:timers/promises'
import { createScheduler, type Scheduler } from '../../src/executor/scheduler.ts'
import type { EventName, SchedulerEvents } from '../../src/executor/events.ts'
import type { SchedulerOptions } from '../../src/executor/scheduler-options.ts'
import type { Dialect } from '../../src/spi/dialect.ts'

type Happened = { readonly [N in EventName]: { readonly name: N; readonly event: SchedulerEvents[N]; readonly at: number } }[EventName]

const names: readonly EventName[] = ['error', 'warning', 'started', 'stopped', 'node.lost', 'node.registered', 'heartbeat', 'definition.superseded', 'slot.skipped', 'slot.missed', 'execution.started',
  'execution.succeeded', 'execution.failed', 'execution.retry', 'execution.fenced', 'execution.recovered', 'recovery.blocked', 'task.stuck', 'lock.foreign']

export type LocalOptions = Omit<SchedulerOptions, 'dialect' | 'url'>

/** A scheduler in the test's own process, with everything it said. Stopped with its cluster. */
export class LocalNode {
  readonly scheduler: Scheduler
  readonly happened: Happened[] = []
  readonly dialect: Dialect

  constructor(dialect: Dialect, options: LocalOptions = {}) {
    this.dialect = dialect
    this.scheduler = createScheduler({ dialect, namespace: 'test', lockVeto: 'off', signals: false, drainMs: 200, abortGraceMs: 200, leaseMs: 6_000, heartbeatMs: Math.min(1_000, (options.leaseMs ?? 6_000) / 5), ...options })
    for (const name of names) this.scheduler.on(name, (event) => { this.happened.push({ name, event, at: performance.now() } as Happened) })
  }

  async end(): Promise<void> {
    await this.scheduler.stop()
    await this.dialect.close()
  }

  events<N extends EventName>(name: N): SchedulerEvents[N][] {
    return this.happened.filter((entry) => entry.name === name).map(({ event }) => event as SchedulerEvents[N])
  }

  /** The first such event, past or to come. */
  async event<N extends EventName>(name: N, matches: (event: SchedulerEvents[N]) => boolean = () => true, timeoutMs = 30_000): Promise<SchedulerEvents[N]> {
    const end = performance.now() + timeoutMs
    for (;;) {
      const found = this.events(name).find(matches)
      if (found !== undefined) return found
      if (performance.now() > end) throw new Error(`no ${name} within ${timeoutMs} ms; there was: ${JSON.stringify(this.happened.filter((entry) => entry.name !== 'heartbeat').map((entry) => ({ name: entry.name, event: entry.event, error: 'error' in entry.event ? String(entry.event.error) : undefined })))}`)
      await sleep(10)
    }
  }
}
