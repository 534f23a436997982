export type { EventSource } from './subscribe.ts'
export { traceScheduler, type SpanTracer, type TraceOptions, type Tracing } from './trace-scheduler.ts'
