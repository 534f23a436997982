import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskContext } from '../../src/executor/task-context.ts'
import { execute, select } from './driver-client.ts'

/** The tables of the job, and its orders. Nothing in them would stop a second closure. */
export function orderTables(orders: number): string[] {
  const values = Array.from({ length: orders }, (_, index) => `(${index + 1}, 'open')`)
  return [
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, state VARCHAR(8) NOT NULL)',
    'CREATE TABLE closures (order_id INTEGER NOT NULL, fire_time BIGINT NOT NULL, fencing_token BIGINT NOT NULL)',
    `INSERT INTO orders (id, state) VALUES ${values.join(', ')}`,
  ]
}

/** Scans what is open and closes the first portion, order by order; all of it and the success of the run are one transaction. */
export async function closeOrders(context: TaskContext, { portion, pauseMs }: { readonly portion: number; readonly pauseMs: number }): Promise<void> {
  await context.transaction(async (client) => {
    const open = await select(client, "SELECT id FROM orders WHERE state = 'open' ORDER BY id")
    for (const { id } of open.slice(0, portion)) {
      context.signal.throwIfAborted()
      await execute(client, `UPDATE orders SET state = 'closed' WHERE id = ${Number(id)}`)
      await execute(client, `INSERT INTO closures (order_id, fire_time, fencing_token) VALUES (${Number(id)}, ${context.fireTime.getTime()}, ${context.fencingToken})`)
      // On SQLite nothing may wait while the one writer is at work.
      if (pauseMs > 0) await sleep(pauseMs)
    }
  })
}
