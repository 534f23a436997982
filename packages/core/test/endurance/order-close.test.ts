import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import type { Cluster } from '../executor/cluster.ts'
import { orderTables } from '../executor/order-close.ts'
import { runTogether } from '../executor/scenarios.ts'
import { Crowd, crowdLease } from './crowd.ts'

const size = 10
const orders = 1_000
const portion = 80
const everyMs = 2_000
const killEveryMs = 4_000
const runMs = 24_000
const patienceMs = 60_000

async function closeAll(cluster: Cluster): Promise<void> {
  for (const statement of orderTables(orders)) await cluster.query(statement)
  const pauseMs = cluster.store.product === 'SQLite' ? 0 : 5
  const crowd = new Crowd(cluster, { options: { ...crowdLease, drainMs: 2_000 }, tasks: [{ name: 'close', options: { everyMs, retry: { max: 5, backoffMs: 100 } }, handler: { do: 'close-orders', portion, pauseMs } }] })
  await crowd.start(size)
  const kills = await crowd.keepKilling('close', killEveryMs, runMs)
  const open = async (): Promise<unknown> => (await cluster.query("SELECT COUNT(*) AS n FROM orders WHERE state = 'open'"))[0]?.['n']
  for (const end = performance.now() + patienceMs; await open() !== 0 && performance.now() < end;) await sleep(200)
  await crowd.stop()

  expect(kills.length).toBe(runMs / killEveryMs - 1)
  expect(await cluster.query("SELECT id, state FROM orders WHERE state <> 'closed'")).toEqual([])
  const closures = await cluster.query('SELECT order_id, fire_time, fencing_token FROM closures')
  const times = new Map<unknown, number>()
  for (const { order_id: order } of closures) times.set(order, (times.get(order) ?? 0) + 1)
  expect([...times].filter(([, count]) => count !== 1)).toEqual([])
  expect(times.size).toBe(orders)
  // Closed by the attempt that succeeded, never by one that was killed or fenced.
  const succeeded = new Map((await cluster.executions('close')).filter(({ state }) => state === 'succeeded').map((row) => [row['fire_time'], row['fencing_token']]))
  for (const closure of closures) expect(succeeded.get(closure['fire_time'])).toBe(closure['fencing_token'])
}

const title = 'P8: ten instances close a thousand orders by ctx.transaction, the running one killed every four seconds: each order is closed exactly once'

for (const products of [['SQLite', 'PostgreSQL'], ['MySQL', 'MariaDB']] as const) {
  describe(`orders, ${products.join(' and ')}`, () => { runTogether([{ title, on: products, run: closeAll }]) })
}
