// One instance of a service with a task each second. Journals JSON lines. Arguments: URL, options of the scheduler as JSON. A line on stdin stops it.
import { setTimeout as sleep } from 'node:timers/promises'
import { createScheduler, type SchedulerOptions } from '@sched/core'
import type { MysqlPromiseConnection } from '../../src/index.ts'
import { mysql } from '../../src/index.ts'

const [url = '', options = '{}'] = process.argv.slice(2)
const say = (line: object): void => { process.stdout.write(`${JSON.stringify({ at: performance.timeOrigin + performance.now(), ...line })}\n`) }

const scheduler = createScheduler({
  dialect: mysql<MysqlPromiseConnection>({ url }), namespace: 'test', leaseMs: 3_000, heartbeatMs: 600, drainMs: 2_000, signals: false, ...JSON.parse(options) as SchedulerOptions<MysqlPromiseConnection>,
})
scheduler.task('tick', { cron: '* * * * * *' }, async ({ fireTime, attempt, fencingToken, signal }) => {
  const run = { fireTime: fireTime.getTime(), attempt, token: fencingToken }
  say({ kind: 'start', ...run })
  try {
    await sleep(500, undefined, { signal }) // time to be killed or frozen in it
  } finally {
    say({ kind: 'end', ...run, aborted: signal.aborted })
  }
})
scheduler.task('write', { cron: '* * * * * *' }, async (ctx) => {
  await ctx.transaction(async (client) => { await client.query('INSERT INTO effects (fire_time) VALUES (?)', [ctx.fireTime.getTime()]) })
})
for (const name of ['error', 'warning', 'node.lost', 'slot.skipped', 'execution.succeeded', 'execution.failed', 'execution.fenced', 'execution.recovered'] as const) {
  scheduler.on(name, (event) => {
    const { error, finding } = event as { error?: Error; finding?: { code: string } }
    say({ kind: name, ...event, ...(error === undefined ? {} : { error: error.message, code: (error as { code?: string }).code }), ...(finding === undefined ? {} : { finding: finding.code }) })
  })
}
try {
  await scheduler.start()
} catch (error) {
  say({ kind: 'refused', code: (error as { code?: string }).code, message: (error as Error).message })
  process.exit(2)
}
say({ kind: 'started' })
process.stdin.once('data', () => {
  process.stdin.destroy()
  void scheduler.stop().then(() => { say({ kind: 'ended' }) })
})
