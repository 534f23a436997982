import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { createScheduler, type Scheduler } from '../../src/executor/scheduler.ts'
import type { SchedulerOptions } from '../../src/executor/scheduler-options.ts'
import type { Dialect } from '../../src/spi/dialect.ts'
import { observeScheduler } from '../../src/telemetry/observe-scheduler.ts'

/** A database file of a test's own, gone with it. */
export function scratchFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sched-telemetry-'))
  onTestFinished(() => { rmSync(directory, { recursive: true, force: true }) })
  return join(directory, 'sched.db')
}

/** Another connection, for what happens behind a scheduler's back. */
export function behindItsBack(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 2_000 })
  onTestFinished(() => { database.close() })
  return database
}

export type Labels = Readonly<Record<string, string>>

/** The sum of the series with these labels; undefined when there is none. `name` may be a histogram's `…_count`. */
export async function valueOf(registry: Registry, name: string, labels: Labels = {}): Promise<number | undefined> {
  const all = await registry.getMetricsAsJSON()
  const series = all.flatMap((metric) => (metric.values as { value: number; metricName?: string; labels: Record<string, unknown> }[]).map((value) => ({ ...value, name: value.metricName ?? metric.name })))
  const found = series.filter((value) => value.name === name && Object.entries(labels).every(([label, wanted]) => value.labels[label] === wanted))
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}

/** The metric as it is as soon as it satisfies. */
export async function untilValue(registry: Registry, name: string, labels: Labels, satisfied: (value: number) => boolean, timeoutMs = 20_000): Promise<number> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const value = await valueOf(registry, name, labels)
    if (value !== undefined && satisfied(value)) return value
    if (performance.now() > end) throw new Error(`${name} ${JSON.stringify(labels)} is ${value} after ${timeoutMs} ms. The registry:\n${(await registry.metrics()).split('\n').filter((line) => !line.startsWith('#') && !line.includes('_bucket')).join('\n')}`)
    await sleep(20)
  }
}

export type NodeOptions = Omit<SchedulerOptions, 'dialect' | 'url'> & { file?: string; wrap?: (dialect: Dialect) => Dialect }

/** A scheduler on SQLite, and the metrics it shows. Its lease outlives any pause of a busy machine, unless told otherwise. */
export class ObservedNode {
  readonly scheduler: Scheduler
  readonly registry: Registry = new Registry()
  readonly file: string
  readonly errors: Error[] = []

  constructor({ file = scratchFile(), wrap = (dialect) => dialect, ...options }: NodeOptions = {}) {
    this.file = file
    const dialect = wrap(sqlite({ file }))
    this.scheduler = createScheduler({ dialect, namespace: 'test', lockVeto: 'off', signals: false, drainMs: 200, abortGraceMs: 100, leaseMs: 30_000, heartbeatMs: 250, ...options })
    this.scheduler.on('error', ({ error }) => { this.errors.push(error) })
    observeScheduler(this.scheduler, { registry: this.registry })
    onTestFinished(async () => {
      await this.scheduler.stop()
      await dialect.close()
    })
  }

  value(name: string, labels: Labels = {}): Promise<number | undefined> { return valueOf(this.registry, name, labels) }

  until(name: string, labels: Labels = {}, satisfied: (value: number) => boolean = (value) => value > 0): Promise<number> {
    return untilValue(this.registry, name, labels, satisfied)
  }
}
