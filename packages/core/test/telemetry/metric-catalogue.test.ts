import { readFileSync, readdirSync } from 'node:fs'
import { Counter, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { Events } from '../../src/executor/events.ts'
import { lockMetrics, schedulerMetrics, type MetricDefinition } from '../../src/telemetry/metric-definitions.ts'
import { observeLocks } from '../../src/telemetry/observe-locks.ts'
import { observeScheduler } from '../../src/telemetry/observe-scheduler.ts'
import { valueOf } from './observed-node.ts'

const definitions: Readonly<Record<string, MetricDefinition>> = { ...schedulerMetrics, ...lockMetrics }
const names = Object.keys(definitions)
const docs = (file: string): string => readFileSync(new URL(`../../../../docs/${file}`, import.meta.url), 'utf8')

function source(): { events: Events; on: Events['on'] } {
  const events = new Events()
  return { events, on: (name, listener) => events.on(name, listener) }
}

/** What a query language text names that looks like a metric of ours: `…_bucket`, `…_sum` and `…_count` of a histogram are its name. */
function metricsNamed(text: string): Set<string> {
  const found = text.match(/\b(?:task|lock|scheduler)_[a-z0-9_]+\b/g) ?? []
  return new Set(found.map((name) => {
    const base = name.replace(/_(bucket|sum|count)$/, '')
    return definitions[base]?.kind === 'histogram' ? base : name
  }).filter((name) => name !== 'task_name'))
}

describe('the catalogue of metrics', () => {
  it('has the three that the design names, with exactly these labels and buckets', async () => {
    const { events, on } = source()
    const registry = new Registry()
    observeScheduler({ on }, { registry })
    const attempt = { task: 'settle', executionId: 'e', fireTime: 0, attempt: 1, owner: 'o', fencingToken: 1 }
    events.emit('lock.acquire', { task: 'settle', kind: 'gate', outcome: 'acquired', durationMs: 7 })
    events.emit('execution.started', { ...attempt, origin: 'scheduled', attemptReason: null, lateMs: 1_250, delayMs: 250, priority: -1 })
    events.emit('execution.retry', { ...attempt, error: new Error('x'), reason: 'retry', delayMs: 10, runMs: 5 })
    const text = await registry.metrics()
    const lines = text.split('\n')
    const buckets = lines.filter((line) => line.startsWith('lock_acquire_duration_ms_bucket')).map((line) => /le="([^"]+)"/.exec(line)?.[1])
    expect(buckets).toEqual(['1', '5', '10', '50', '100', '500', '1000', '+Inf'])
    expect(text).toContain('# TYPE lock_acquire_duration_ms histogram')
    expect(text).toContain('lock_acquire_duration_ms_bucket{le="5",kind="gate",outcome="acquired"} 0')
    expect(text).toContain('lock_acquire_duration_ms_bucket{le="10",kind="gate",outcome="acquired"} 1')
    expect(text).toContain('# TYPE task_delay_seconds histogram')
    expect(lines).toContain('task_delay_seconds_sum{task_name="settle",priority="-1"} 0.25')
    expect(text).toContain('# TYPE task_retry_total counter')
    expect(lines).toContain('task_retry_total{task_name="settle",reason="retry"} 1')
  })

  it('P10: the counters of every task are there with 0 from `started` on, for each value their labels have, so that `increase` sees the first event', async () => {
    const { events, on } = source()
    const registry = new Registry()
    observeScheduler({ on }, { registry })
    events.emit('started', { nodeId: 'n', namespace: 'test', plan: [], tasks: ['settle', 'send'] })
    const attempt = { executionId: 'e', fireTime: 0, attempt: 1, owner: 'o', fencingToken: 1, runMs: 5 }
    const before = await registry.getMetricsAsJSON()
    const counters = Object.entries(schedulerMetrics).filter(([, { kind, labels }]) => kind === 'counter' && (labels as readonly string[]).includes('task_name'))
    expect(counters.length).toBeGreaterThan(9)
    for (const [name] of counters) for (const task_name of ['settle', 'send']) expect(await valueOf(registry, name, { task_name }), name).toBe(0)
    // What happens later adds no series.
    for (const [code, error] of [['SCHED_TASK_FAILED', new Error('x')], ['SCHED_TASK_TIMEOUT', new SchedError('SCHED_TASK_TIMEOUT', 'x')], ['SCHED_TASK_CANCELLED', new SchedError('SCHED_TASK_CANCELLED', 'x')]] as const) {
      events.emit('execution.failed', { ...attempt, task: 'settle', error })
      expect(await valueOf(registry, 'task_failed_total', { task_name: 'settle', code })).toBe(1)
    }
    for (const [state, errorCode] of [['retry', 'SCHED_LEASE_LOST'], ['failed', 'SCHED_LEASE_LOST'], ['failed', 'SCHED_TASK_POISON']] as const) events.emit('execution.recovered', { task: 'settle', executionId: 'e', fireTime: 0, state, crashCount: 1, errorCode })
    for (const reason of ['overlap', 'superseded']) events.emit('slot.skipped', { task: 'settle', executionId: 'e', fireTime: 0, reason })
    events.emit('slot.missed', { task: 'settle', count: 2, caughtUp: undefined })
    events.emit('task.stalled', { task: 'settle', reason: 'x' })
    events.emit('lock.foreign', { task: 'settle', holder: null })
    events.emit('definition.superseded', { task: 'settle' })
    const after = await registry.getMetricsAsJSON()
    for (const [name] of counters) {
      const [were, are] = [before, after].map((all) => all.find((metric) => metric.name === name)?.values.length)
      expect(are, name).toBe(were)
    }
  })

  it('P10: what a task does before `started`, and a task that only others carry, has all its counters at once', async () => {
    const { events, on } = source()
    const registry = new Registry()
    observeScheduler({ on }, { registry })
    events.emit('task.stalled', { task: 'elsewhere', reason: 'x' })
    expect(await valueOf(registry, 'task_stalled_total', { task_name: 'elsewhere' })).toBe(1)
    expect(await valueOf(registry, 'task_missed_total', { task_name: 'elsewhere' })).toBe(0)
  })

  it.each(Object.entries(definitions))('%s is registered as it is defined, follows the naming rules, is documented, and is moved by a test', (name, definition) => {
    const registry = new Registry()
    observeScheduler(source(), { registry })
    observeLocks({ registry })
    expect(registry.getSingleMetric(name)).toMatchObject({ name, help: definition.help, labelNames: definition.labels, type: definition.kind })
    expect(name.endsWith('_total')).toBe(definition.kind === 'counter')
    expect(docs('observability.md')).toMatch(new RegExp(`\`${name}\``))
    const tests = readdirSync(import.meta.dirname).filter((file) => file.endsWith('-metrics.test.ts')).map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
    expect(tests.some((text) => new RegExp(`'${name}(_count|_sum)?'`).test(text))).toBe(true)
  })

  it.each(['alerts.yml', 'dashboard.json', 'observability.md'])('docs/%s names no metric that does not exist', (file) => {
    const named = metricsNamed(docs(file))
    expect(named.size).toBeGreaterThan(8)
    expect([...named].filter((name) => !names.includes(name))).toEqual([])
  })

  it('docs/alerts.yml and docs/dashboard.json select by labels that their metrics have', () => {
    for (const [, name, selector] of `${docs('alerts.yml')} ${docs('dashboard.json').replaceAll('\\"', '"')}`.matchAll(/\b((?:task|lock|scheduler)_[a-z0-9_]+)\{([^}]*)\}/g)) {
      const definition = definitions[(name as string).replace(/_(bucket|sum|count)$/, '')] ?? definitions[name as string]
      for (const [, label] of (selector as string).matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)) expect([...definition?.labels ?? [], 'job', 'instance', 'le'], `${name}{${selector}}`).toContain(label)
    }
  })

  it('docs/dashboard.json is a dashboard that Grafana imports: every panel has its place, its data source and its queries', () => {
    interface Panel { id: number; type: string; title: string; gridPos: { x: number; y: number; w: number; h: number }; datasource?: { uid: string }; targets?: { expr: string; refId: string }[] }
    const { panels, title, schemaVersion } = JSON.parse(docs('dashboard.json')) as { panels: Panel[]; title: string; schemaVersion: number }
    expect(title).toBe('@sched')
    expect(schemaVersion).toBeGreaterThan(30)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const { type, targets, datasource, gridPos } of panels.filter((panel) => panel.type !== 'row')) {
      expect(['timeseries', 'stat', 'table', 'state-timeline']).toContain(type)
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      expect(datasource?.uid).toBe('${datasource}')
      expect(targets?.length).toBeGreaterThan(0)
    }
  })

  it('docs/alerts.yml: each alert has an expression, a severity and a summary', () => {
    const alerts = docs('alerts.yml').split(/^ {6}- alert: /m).slice(1)
    expect(alerts.length).toBeGreaterThan(8)
    for (const alert of alerts) {
      expect(alert).toMatch(/^[A-Z][A-Za-z]+\n/)
      for (const part of [/^ {8}expr: /m, /^ {8}for: \d+[sm]$/m, /^ {10}severity: (page|ticket)$/m, /^ {10}summary: \S/m, /^ {10}description: \S/m]) expect(alert).toMatch(part)
    }
  })

  it('two schedulers share a registry when a constant label tells them apart, and are refused without one', async () => {
    const registry = new Registry()
    const [billing, reporting] = [source(), source()]
    observeScheduler(billing, { registry, labels: { namespace: 'billing' } })
    observeScheduler(reporting, { registry, labels: { namespace: 'reporting' } })
    billing.events.emit('node.registered', { nodeId: 'n' })
    billing.events.emit('slot.missed', { task: 'settle', count: 3, caughtUp: undefined })
    expect(await valueOf(registry, 'task_missed_total', { namespace: 'billing', task_name: 'settle' })).toBe(3)
    expect(await valueOf(registry, 'scheduler_healthy', { namespace: 'billing' })).toBe(1)
    expect(await valueOf(registry, 'scheduler_healthy', { namespace: 'reporting' })).toBe(0)
    expect(() => observeScheduler(source(), { registry })).toThrow(/SCHED_OPTION_INVALID: the registry has a metric task_delay_seconds already, with the constant labels namespace/)
    expect(() => observeScheduler(source(), { registry, labels: { namespace: 'billing' } })).toThrow(/SCHED_OPTION_INVALID/)
    expect(() => observeScheduler(source(), { registry: new Registry(), labels: { task_name: 'x' } })).toThrow(/SCHED_OPTION_INVALID: the constant label task_name/)
  })

  it('a foreign metric of the same name is refused, not written to', () => {
    const registry = new Registry()
    new Counter({ name: 'task_retry_total', help: 'somebody else\'s', registers: [registry] })
    expect(() => observeScheduler(source(), { registry })).toThrow(/SCHED_OPTION_INVALID: the registry has a metric task_retry_total already/)
  })

  it('after it has stopped, nothing moves any more, and the registry may observe again', async () => {
    const registry = new Registry()
    const first = source()
    const stop = observeScheduler(first, { registry })
    stop()
    first.events.emit('slot.missed', { task: 'settle', count: 3, caughtUp: undefined })
    expect(await valueOf(registry, 'task_missed_total')).toBeUndefined()
    const second = source()
    observeScheduler(second, { registry })
    second.events.emit('slot.missed', { task: 'settle', count: 2, caughtUp: undefined })
    expect(await valueOf(registry, 'task_missed_total', { task_name: 'settle' })).toBe(2)
  })
})
