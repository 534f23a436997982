import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, trace, type Attributes, type Span, type Tracer } from '@opentelemetry/api'
import manifest from '../../package.json' with { type: 'json' }
import { isSchedError } from '../errors.ts'
import type { AttemptRef } from '../executor/events.ts'
import { subscribe, type EventSource } from './subscribe.ts'

/** The part of an OpenTelemetry tracer that is called here. */
export interface SpanTracer { startSpan(name: string, options?: object, context?: object): object }

export interface TraceOptions {
  /** Makes the spans: a `Tracer` of @opentelemetry/api. Default: that of the global provider, named `@sched/core`. */
  tracer?: SpanTracer
}

export interface Tracing {
  /** Makes a handler run inside its attempt's span, so that what it does (queries, requests) becomes children of it. */
  traced<C extends { readonly owner: string }, R>(handler: (context: C) => R): (context: C) => R
  /** Stops tracing. Spans that are open end with the outcome `unobserved`. */
  stop(): void
}

/**
 * One span per attempt, `task <name>`, from its start in the ledger to its end. Each is a trace of its own: an attempt belongs to no
 * request, whichever happened to be active when a timer was set. Attributes: `sched.task`, `sched.execution_id`, `sched.fire_time` (ISO 8601),
 * `sched.attempt`, `sched.reason`, `sched.late_ms`, `sched.fencing_token`, and at the end `sched.outcome` (`succeeded`, `failed`, `retry`, `interrupted`,
 * `fenced`, `unfinished`). All but the first and `interrupted` have the status ERROR and their error recorded.
 */
export function traceScheduler(scheduler: EventSource, options: TraceOptions = {}): Tracing {
  const tracer = (options.tracer ?? trace.getTracer('@sched/core', manifest.version)) as Tracer
  const spans = new Map<string, Span>()

  const end = ({ owner }: AttemptRef, outcome: string, error?: Error, attributes: Attributes = {}): void => {
    const span = spans.get(owner)
    if (span === undefined) return
    spans.delete(owner)
    span.setAttributes({ ...attributes, 'sched.outcome': outcome })
    if (error !== undefined) {
      span.recordException(error)
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message })
      span.setAttribute('error.type', isSchedError(error) ? error.code : error.name)
    }
    span.end()
  }

  const unsubscribe = subscribe(scheduler, {
    'execution.started': ({ task, executionId, fireTime, attempt, owner, fencingToken, origin, attemptReason, lateMs, priority }) => {
      spans.set(owner, tracer.startSpan(`task ${task}`, {
        kind: SpanKind.INTERNAL, root: true,
        attributes: {
          'sched.task': task, 'sched.execution_id': executionId, 'sched.fire_time': new Date(fireTime).toISOString(), 'sched.attempt': attempt, 'sched.reason': attemptReason ?? origin,
          'sched.late_ms': lateMs, 'sched.fencing_token': fencingToken, 'sched.priority': priority,
        },
      }, ROOT_CONTEXT))
    },
    'execution.succeeded': (event) => { end(event, 'succeeded') },
    'execution.failed': (event) => { end(event, 'failed', event.error) },
    'execution.retry': (event) => {
      // A drain is nobody's failure.
      if (event.reason === 'interrupted') end(event, 'interrupted')
      else end(event, 'retry', event.error, { 'sched.retry_reason': event.reason, 'sched.retry_delay_ms': event.delayMs })
    },
    'execution.fenced': (event) => { end(event, 'fenced', event.reason) },
    'execution.unfinished': (event) => { end(event, 'unfinished', event.error) },
  })

  return {
    traced: (handler) => (given) => {
      const span = spans.get(given.owner)
      return span === undefined ? handler(given) : context.with(trace.setSpan(ROOT_CONTEXT, span), () => handler(given))
    },
    stop() {
      unsubscribe()
      for (const span of spans.values()) span.setAttribute('sched.outcome', 'unobserved').end()
      spans.clear()
    },
  }
}
