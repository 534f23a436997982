// Effects exactly once: the booking and the task's own success are one transaction.
//   node examples/settlement.ts postgres://user:password@host/db
import { createScheduler } from '@sched/core'
import { postgres } from '@sched/dialect-postgres'

const url = process.argv[2]
if (url === undefined) throw new Error('usage: node examples/settlement.ts postgres://…')

const scheduler = createScheduler({ dialect: postgres({ url }), namespace: 'settlement-example', log: console.log })

scheduler.task('settle', { cron: '*/10 * * * * *', timeoutMs: 60_000, retry: { max: 3, backoffMs: 2_000 } }, async (ctx) => {
  await ctx.transaction(async (client) => {
    await client.query('CREATE TABLE IF NOT EXISTS settlement_example (fire_time timestamptz PRIMARY KEY, token bigint NOT NULL)')
    // A second booking of the same fire time would violate the key; it never comes, not even from a woken zombie.
    await client.query('INSERT INTO settlement_example VALUES ($1, $2)', [ctx.fireTime.toISOString(), ctx.fencingToken])
  })
})

scheduler.on('execution.succeeded', ({ fireTime, runMs }) => console.log(`settled ${new Date(fireTime).toISOString()} in ${Math.round(runMs)} ms`))
scheduler.on('error', ({ error, where }) => console.error(where, error.message))
await scheduler.start()
