import { randomUUID } from 'node:crypto'
import { describeServer } from '@sched-dev/databases'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../../src/ledger/migrate.ts'
import { newestSlot, oldestSlot } from '../../src/ledger/outermost-slots.ts'
import { hash, Scene } from './scene.ts'
import { emptyStore, serverOf, StoreGround } from './store-ground.ts'
import type { Product } from './connector.ts'

/** How the servers answer, by their own count of what they touched: a year of executions must not be read for one of them. */
describe('the newest and the oldest slot', () => {
  for (const [product, name] of Object.entries(serverOf)) {
    describeServer(name, ({ url }) => {
      let ground: StoreGround
      beforeAll(async () => {
        ground = new StoreGround(await emptyStore(product as Exclude<Product, 'SQLite'>, url))
        await migrate(ground.migration())
      })
      afterAll(async () => { await ground.end() })

      it('P12: are found by the index, whatever else there is', async () => {
        const scene = new Scene(ground)
        const { tables } = scene.ledger
        const columns = ['execution_id', 'task_name', 'fire_time', 'slot_key', 'state', 'origin', 'attempt', 'crash_count', 'due_at', 'created_at', 'definition_hash']
        for (let first = 0; first < 20_000; first += 1_000) {
          const rows = Array.from({ length: 1_000 }, (_, index) => [scene.namespace, randomUUID(), 'job', first + index + 1, 'cron', 'succeeded', 'scheduled', 1, 0, 0, 0, hash])
          await scene.query(`INSERT INTO ${tables.executions} (namespace, ${columns.join(', ')}) VALUES ${rows.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ')}`, rows.flat())
        }
        await scene.query(`${product === 'PostgreSQL' ? 'ANALYZE' : 'ANALYZE TABLE'} ${tables.executions}`)
        for (const [what, subquery, upTo] of [['newest', newestSlot(scene.ledger), []], ['newest up to', newestSlot(scene.ledger, { upTo: true }), [7_000]], ['oldest', oldestSlot(scene.ledger), []]] as const) {
          expect(await rowsTouched(scene, subquery, [scene.namespace, 'job', ...upTo]), what).toBeLessThan(100)
        }
      })

      async function rowsTouched(scene: Scene, text: string, params: readonly (string | number)[]): Promise<number> {
        const session = scene.ground.session('plans')
        return session.block('counting what is read', async (sql) => {
          if (product === 'PostgreSQL') {
            const { rows } = await sql.run({ text: `EXPLAIN (ANALYZE, FORMAT TEXT) ${text}`, params })
            const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
            const counts = [...plan.matchAll(/actual .*?rows=([\d.]+)|Rows Removed by Filter: (\d+)/g)].map(([, read, removed]) => Number(read ?? removed))
            return { commit: false, value: Math.max(...counts) }
          }
          const reads = async (): Promise<number> => {
            const { rows } = await sql.run({ text: "SHOW SESSION STATUS LIKE 'Handler_read%'", params: [] })
            return rows.reduce((sum, row) => sum + Number(Object.values(row)[1]), 0)
          }
          const before = await reads()
          await sql.run({ text, params })
          return { commit: false, value: await reads() - before }
        })
      }
    })
  }
})
