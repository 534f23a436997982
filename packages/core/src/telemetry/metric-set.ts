import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { SchedError } from '../errors.ts'
import type { MetricDefinition } from './metric-definitions.ts'

/** The part of a prom-client registry that is called here. */
export interface MetricRegistry {
  registerMetric(metric: never): void
  getSingleMetric(name: string): unknown
}

type LabelsOf<D extends MetricDefinition> = { readonly [L in D['labels'][number]]: string }

export interface CounterSeries<L> { inc(labels: L, by?: number): void }
/** `sample` is asked at every scrape; the result stops that. */
export interface GaugeSeries<L> { set(labels: L, value: number): void; add(labels: L, by: number): void; sample(read: () => number): () => void }
export interface HistogramSeries<L> { observe(labels: L, value: number): void }

type Series<D extends MetricDefinition> =
  D['kind'] extends 'counter' ? CounterSeries<LabelsOf<D>> : D['kind'] extends 'gauge' ? GaugeSeries<LabelsOf<D>> : HistogramSeries<LabelsOf<D>>

/** The metrics of a table, ready to be written to. */
export type MetricSet<T> = { readonly [N in keyof T]: T[N] extends MetricDefinition ? Series<T[N]> : never }

type Made = Counter | GaugeWithSamplers | Histogram

/** What this module made, by registry: two schedulers may share one, told apart by a constant label. */
const made = new WeakMap<object, Map<string, { readonly metric: Made; readonly constantNames: string }>>()

/** Who writes to a registry now, and with which constant labels. */
const writers = new WeakMap<object, Set<string>>()

/**
 * Makes sure that no two writers of a kind write to the same series of a registry; the result gives them free.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function claimSeries(kind: 'scheduler' | 'locks', registry: MetricRegistry, constant: Readonly<Record<string, string>>): () => void {
  const claimed = writers.get(registry) ?? new Set<string>()
  writers.set(registry, claimed)
  const series = JSON.stringify([kind, ...Object.entries(constant).sort(([a], [b]) => (a < b ? -1 : 1))])
  if (claimed.has(series)) {
    const which = Object.keys(constant).length === 0 ? 'without constant labels' : `with the labels ${JSON.stringify(constant)}`
    throw new SchedError('SCHED_OPTION_INVALID', `another observer of ${kind} writes to this registry ${which}.`, { remedy: shareRemedy, details: { option: 'labels' } })
  }
  claimed.add(series)
  return () => { claimed.delete(series) }
}

const shareRemedy = 'Take a registry of its own, or give all that share one the same constant label with different values: labels: { namespace: … }.'

class GaugeWithSamplers extends Gauge {
  readonly samplers = new Set<() => void>()
}

/**
 * Makes the metrics of a table on a registry, each with the constant labels, or takes those that are there already from another scheduler.
 * @throws SchedError SCHED_OPTION_INVALID when the registry has a foreign metric of the same name, or ours with other constant labels
 */
export function metricSet<T extends Readonly<Record<string, MetricDefinition>>>(table: T, registry: MetricRegistry, constant: Readonly<Record<string, string>>): MetricSet<T> {
  const known = made.get(registry) ?? new Map<string, { metric: Made; constantNames: string }>()
  made.set(registry, known)
  const constantNames = Object.keys(constant).sort().join(', ')
  const series = Object.entries(table).map(([name, definition]) => {
    const there = registry.getSingleMetric(name)
    let entry = known.get(name)
    if (there === undefined) {
      entry = { metric: make(name, definition, registry, Object.keys(constant)), constantNames }
      known.set(name, entry)
    } else if (entry === undefined || entry.metric !== there || entry.constantNames !== constantNames) {
      throw new SchedError('SCHED_OPTION_INVALID', `the registry has a metric ${name} already${entry?.metric === there ? `, with the constant labels ${entry.constantNames === '' ? '(none)' : entry.constantNames}` : ''}.`, {
        remedy: shareRemedy, details: { option: 'registry' },
      })
    }
    return [name, seriesOf(entry.metric, constant)]
  })
  return Object.fromEntries(series) as MetricSet<T>
}

function make(name: string, { kind, help, labels, buckets = [] }: MetricDefinition, registry: MetricRegistry, constantNames: readonly string[]): Made {
  const clash = constantNames.find((label) => labels.includes(label))
  if (clash !== undefined) throw new SchedError('SCHED_OPTION_INVALID', `the constant label ${clash} is a label of ${name} itself.`, { details: { option: 'labels' } })
  const common = { name, help, labelNames: [...labels, ...constantNames], registers: [registry as unknown as Registry] }
  switch (kind) {
    case 'counter': return new Counter(common)
    case 'histogram': return new Histogram({ ...common, buckets: [...buckets] })
    case 'gauge': return new GaugeWithSamplers({ ...common, collect() { for (const sampler of (this as GaugeWithSamplers).samplers) sampler() } })
  }
}

type AnyLabels = Readonly<Record<string, string>>

function seriesOf(metric: Made, constant: AnyLabels): CounterSeries<AnyLabels> | GaugeSeries<AnyLabels> | HistogramSeries<AnyLabels> {
  if (metric instanceof Counter) return { inc: (labels, by = 1) => metric.inc({ ...labels, ...constant }, by) }
  if (metric instanceof Histogram) return { observe: (labels, value) => metric.observe({ ...labels, ...constant }, value) }
  return {
    set: (labels, value) => metric.set({ ...labels, ...constant }, value),
    add: (labels, by) => metric.inc({ ...labels, ...constant }, by),
    sample(read) {
      const sampler = (): void => metric.set({ ...constant }, read())
      metric.samplers.add(sampler)
      return () => { metric.samplers.delete(sampler) }
    },
  }
}
