// The order-close job: every few seconds one of the instances scans what is open and closes it. Start it in several terminals, and kill
// whichever works: each order is closed exactly once, because its closing and the success of the run are one transaction.
//   node examples/order-close.ts postgres://user:password@host/db
import { createScheduler } from '@sched/core'
import { postgres } from '@sched/dialect-postgres'
import pg from 'pg'

const url = process.argv[2]
if (url === undefined) throw new Error('usage: node examples/order-close.ts postgres://…')

// A second closing of an order would violate the key; none ever comes.
const setUp = new pg.Client({ connectionString: url })
await setUp.connect()
await setUp.query(`CREATE TABLE IF NOT EXISTS orders_example (id bigint PRIMARY KEY, state text NOT NULL DEFAULT 'open');
CREATE TABLE IF NOT EXISTS closings_example (order_id bigint PRIMARY KEY REFERENCES orders_example, fencing_token bigint NOT NULL)`)
await setUp.query(`INSERT INTO orders_example (id) SELECT generate_series(1, 1000) ON CONFLICT DO NOTHING`)
await setUp.end()

const portion = 100

const scheduler = createScheduler({ dialect: postgres({ url }), namespace: 'order-close-example', leaseMs: 6_000, heartbeatMs: 1_500 })

scheduler.task('close-orders', { everyMs: 3_000, timeoutMs: 30_000, retry: { max: 3, backoffMs: 1_000 } }, async (ctx) => {
  await ctx.transaction(async (client) => {
    const { rows } = await client.query<{ id: string }>(`SELECT id FROM orders_example WHERE state = 'open' ORDER BY id LIMIT $1`, [portion])
    for (const { id } of rows) {
      // Another instance may have taken over while this one was frozen: then nothing of this is committed, so there is no use in going on.
      ctx.signal.throwIfAborted()
      await client.query(`UPDATE orders_example SET state = 'closed' WHERE id = $1`, [id])
      await client.query('INSERT INTO closings_example VALUES ($1, $2)', [id, ctx.fencingToken])
    }
    console.log(`${ctx.fireTime.toISOString()} attempt ${ctx.attempt} (${ctx.reason}): ${rows.length} orders`)
  })
})

scheduler.on('execution.recovered', ({ fireTime }) => console.log(`taken over from a dead instance: ${new Date(fireTime).toISOString()}`))
scheduler.on('error', ({ error, where }) => console.error(where, error.message))
await scheduler.start()
