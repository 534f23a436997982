// One instance with so many tasks, none of them due soon: `idle-node.ts <url> <tasks>`. Prints what it cost, as JSON.
import { setTimeout as sleep } from 'node:timers/promises'
import { createScheduler } from '@sched/core'
import { postgres } from '@sched/dialect-postgres'

const [url = '', count = '1'] = process.argv.slice(2)
const heartbeatMs = 10_000
// After two heartbeats everything that a start brings with it is over.
const settleMs = 2.5 * heartbeatMs
const watchMs = 3 * heartbeatMs

const dialect = postgres({ url })
const scheduler = createScheduler({ dialect, namespace: 'bench', leaseMs: 30_000, heartbeatMs, signals: false })
let beats = 0
scheduler.on('heartbeat', () => { beats += 1 })
scheduler.on('error', ({ where, error }) => { process.stderr.write(`${where}: ${error.message}\n`) })

const defining = performance.now()
// Once a year, each at a second of its own, never while this runs.
const month = (new Date().getUTCMonth() + 6) % 12 + 1
for (let index = 0; index < Number(count); index += 1) scheduler.task(`task-${index}`, { cron: `${index % 60} ${Math.floor(index / 60) % 60} ${Math.floor(index / 3_600) % 24} 1 ${month} *` }, () => {})
const definedMs = performance.now() - defining
const starting = performance.now()
await scheduler.start()
const startMs = performance.now() - starting

await sleep(settleMs)
beats = 0
const before = process.cpuUsage()
const watched = performance.now()
let timers = 0
for (const end = watched + watchMs; performance.now() < end;) {
  await sleep(1_000)
  // Its own sleep has rung by now.
  timers = Math.max(timers, process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length)
}
const { user, system } = process.cpuUsage(before)
const cpuShare = (user + system) / 1000 / (performance.now() - watched)
const heapMb = process.memoryUsage().heapUsed / 2 ** 20
await scheduler.stop()
await dialect.close()
process.stdout.write(`${JSON.stringify({ definedMs, startMs, cpuShare, timers, beats, heapMb })}\n`)
