// Metrics for Prometheus, probes for an orchestrator, an alert on final failures.
//   node examples/observability.ts [url] [port]
//   curl localhost:9464/metrics · /health (readiness, alerts) · /live (liveness)
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, createScheduler } from '@sched/core'
import { observeLocks, observeScheduler } from '@sched/core/prometheus'
import { onFinalFailure, watchHealth } from '@sched/core/telemetry'
import { Registry, collectDefaultMetrics } from 'prom-client'

const [url = 'sqlite:./observability.db', port = '9464'] = process.argv.slice(2)

const registry = new Registry()
collectDefaultMetrics({ register: registry })

const scheduler = createScheduler({ url, namespace: 'observability-example' })
observeScheduler(scheduler, { registry })
const health = watchHealth(scheduler)
onFinalFailure(scheduler, ({ task, fireTime, error }) => console.error(`ALERT ${task} of ${new Date(fireTime).toISOString()}: ${error.message}`))
scheduler.on('error', ({ error, where }) => console.error(where, error.message))

const observer = observeLocks({ registry })
const locks = observer.measured(createLocks({ url, namespace: 'observability-example', onEvent: observer.onEvent }))

scheduler.task('order-close', { everyMs: 5_000, timeoutMs: 4_000 }, async ({ signal }) => {
  await using lease = await locks.acquire('orders', { waitMs: 1_000 })
  await sleep(300, undefined, { signal: AbortSignal.any([signal, lease.signal]) })
})
scheduler.task('flaky', { everyMs: 10_000, retry: { max: 2, backoffMs: 500, backoff: 'exponential' } }, () => {
  if (Math.random() < 0.7) throw new Error('bad luck')
})
await scheduler.start()

const server = createServer((request, response) => {
  answer(request.url ?? '/', response).catch((error: unknown) => { response.writeHead(500).end(String(error)) })
})

async function answer(path: string, response: ServerResponse): Promise<void> {
  const report = health.report()
  const json = (ok: boolean): void => { response.writeHead(ok ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(report)}\n`) }
  switch (path) {
    case '/metrics': response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics()); return
    // Red for whatever keeps this instance from its work: for readiness and for alerts.
    case '/health': json(report.healthy); return
    // Red only where a restart helps: an orchestrator that restarts everything because the database is away makes it worse.
    case '/live': json(!report.problems.some(({ restartHelps }) => restartHelps)); return
    default: response.writeHead(404).end()
  }
}

server.listen(Number(port), () => console.log(`http://localhost:${port}/metrics`))
scheduler.on('stopped', () => {
  server.close()
  locks.close().catch((error: unknown) => console.error('closing the locks', error))
})
