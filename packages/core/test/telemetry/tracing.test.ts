import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT_CONTEXT, SpanStatusCode, context, trace, type Context, type ContextManager } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { traceScheduler, type Tracing } from '../../src/telemetry/trace-scheduler.ts'
import { ObservedNode, behindItsBack, type NodeOptions } from './observed-node.ts'

/** What an application has installed: the active context follows asynchronous work. */
class FollowingContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  active(): Context { return this.#storage.getStore() ?? ROOT_CONTEXT }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(active: Context, fn: F, thisArg?: ThisParameterType<F>, ...args: A): ReturnType<F> {
    return this.#storage.run(active, () => fn.call(thisArg, ...args))
  }
  bind<T>(_active: Context, target: T): T { return target }
  enable(): this { return this }
  disable(): this { return this }
}

class TracedNode extends ObservedNode {
  readonly exporter: InMemorySpanExporter = new InMemorySpanExporter()
  readonly provider: BasicTracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.exporter)] })
  readonly tracing: Tracing

  constructor(options?: NodeOptions) {
    super(options)
    this.tracing = traceScheduler(this.scheduler, { tracer: this.provider.getTracer('test') })
  }

  /** The first ended span that satisfies. */
  async span(satisfied: (span: ReadableSpan) => boolean): Promise<ReadableSpan> {
    const end = performance.now() + 20_000
    for (;;) {
      const found = this.exporter.getFinishedSpans().find(satisfied)
      if (found !== undefined) return found
      if (performance.now() > end) throw new Error(`no such span; there are ${JSON.stringify(this.exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes })))}`)
      await sleep(20)
    }
  }

  outcome(outcome: string): Promise<ReadableSpan> { return this.span(({ attributes }) => attributes['sched.outcome'] === outcome) }
}

describe('what a scheduler shows as spans', { timeout: 90_000 }, () => {
  beforeAll(() => { context.setGlobalContextManager(new FollowingContext()) })
  afterAll(() => { context.disable() })

  it('one span per attempt, with what it was for and how it ended', async () => {
    const node = new TracedNode()
    node.scheduler.task('job', { everyMs: 1_000, priority: 3, retry: { max: 1, backoffMs: 10 } }, async ({ attempt }) => {
      await sleep(60)
      if (attempt === 1) throw new TypeError('told to fail')
    })
    await node.scheduler.start()
    // Not one that was caught up because the machine was busy.
    const first = await node.span(({ attributes }) => attributes['sched.attempt'] === 1 && attributes['sched.reason'] === 'scheduled')
    const second = await node.span(({ attributes }) => attributes['sched.execution_id'] === first.attributes['sched.execution_id'] && attributes['sched.outcome'] === 'succeeded')
    expect(first.name).toBe('task job')
    expect(first.attributes).toMatchObject({ 'sched.task': 'job', 'sched.reason': 'scheduled', 'sched.priority': 3, 'sched.outcome': 'retry', 'sched.retry_reason': 'retry', 'sched.retry_delay_ms': 10, 'error.type': 'TypeError' })
    expect(first.attributes['sched.fire_time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/)
    expect(first.status).toEqual({ code: SpanStatusCode.ERROR, message: 'told to fail' })
    expect(first.events.map(({ name }) => name)).toEqual(['exception'])
    expect(first.duration[0] * 1e3 + first.duration[1] / 1e6).toBeGreaterThan(50)
    expect(second.attributes).toMatchObject({ 'sched.attempt': 2, 'sched.reason': 'retry' })
    expect(second.attributes['sched.fencing_token']).toBeGreaterThan(first.attributes['sched.fencing_token'] as number)
    expect(second.status.code).toBe(SpanStatusCode.UNSET)
  })

  it('an attempt is a trace of its own, whatever was active when it was asked for', async () => {
    const node = new TracedNode()
    node.scheduler.task('job', { cron: '@yearly' }, () => {})
    const request = node.provider.getTracer('application').startSpan('a request')
    await context.with(trace.setSpan(ROOT_CONTEXT, request), async () => {
      await node.scheduler.start()
      await node.scheduler.trigger('job')
    })
    request.end()
    const span = await node.outcome('succeeded')
    expect(span.parentSpanContext).toBeUndefined()
    expect(span.spanContext().traceId).not.toBe(request.spanContext().traceId)
  })

  it('what a traced handler does is a child of its attempt, also after it has waited', async () => {
    const node = new TracedNode()
    const tracer = node.provider.getTracer('application')
    node.scheduler.task('job', { cron: '@yearly' }, node.tracing.traced(async () => {
      await sleep(10)
      tracer.startSpan('a query').end()
    }))
    await node.scheduler.start()
    await node.scheduler.trigger('job')
    const span = await node.outcome('succeeded')
    const query = await node.span(({ name }) => name === 'a query')
    expect(query.parentSpanContext?.spanId).toBe(span.spanContext().spanId)
    expect(query.spanContext().traceId).toBe(span.spanContext().traceId)
  })

  it('P7: a failure for good, a fenced write, an unwritten end and a drain each end their span', async () => {
    const node = new TracedNode({ drainMs: 50 })
    node.scheduler.task('bad', { cron: '@yearly' }, () => { throw new Error('told to fail') })
    node.scheduler.task('zombie', { cron: '@yearly' }, () => { behind.exec(`UPDATE sched_executions SET fencing_token = fencing_token + 1 WHERE state = 'running'`) })
    node.scheduler.task('torn', { cron: '@yearly' }, () => { behind.exec('ALTER TABLE sched_executions RENAME TO hidden') })
    node.scheduler.task('long', { cron: '@yearly' }, ({ signal }) => sleep(80_000, undefined, { signal }))
    await node.scheduler.start()
    const behind = behindItsBack(node.file)
    await node.scheduler.trigger('bad')
    expect((await node.outcome('failed')).status.code).toBe(SpanStatusCode.ERROR)
    await node.scheduler.trigger('zombie')
    expect((await node.outcome('fenced')).attributes).toMatchObject({ 'sched.task': 'zombie', 'error.type': 'SCHED_FENCED' })
    await node.scheduler.trigger('torn')
    expect((await node.outcome('unfinished')).attributes).toMatchObject({ 'sched.task': 'torn', 'error.type': 'SCHED_TABLE_MISSING' })
    behind.exec('ALTER TABLE hidden RENAME TO sched_executions')
    await node.scheduler.trigger('long')
    await node.until('task_starts_total', { task_name: 'long' })
    await node.scheduler.stop()
    expect((await node.outcome('interrupted')).status.code).toBe(SpanStatusCode.UNSET)
  })

  it('P10: stopping the tracing ends what is open, and says that nobody saw the end', async () => {
    const node = new TracedNode()
    let finish = (): void => {}
    const finished = new Promise<void>((resolve) => { finish = resolve })
    node.scheduler.task('job', { cron: '@yearly' }, () => finished)
    await node.scheduler.start()
    await node.scheduler.trigger('job')
    await node.until('task_starts_total', { task_name: 'job' })
    node.tracing.stop()
    finish()
    await node.until('task_runs_total', { outcome: 'succeeded' })
    expect(node.exporter.getFinishedSpans().map(({ attributes }) => attributes['sched.outcome'])).toEqual(['unobserved'])
  })
})
