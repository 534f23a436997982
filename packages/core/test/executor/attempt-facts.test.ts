import { expect } from 'vitest'
import type { Dialect } from '../../src/spi/dialect.ts'
import type { SqlSession } from '../../src/spi/sql-session.ts'
import type { StoreDialect } from '../../src/spi/store-dialect.ts'
import { onStores } from './on-stores.ts'

/** The dialect, telling every value that is bound to a statement. */
function recordingValues(dialect: Dialect, values: unknown[]): Dialect {
  const store = dialect.store as StoreDialect
  return {
    ...dialect,
    store: {
      ...store,
      async open(purpose, options) {
        const session: SqlSession = await store.open(purpose, options)
        const run = session.run.bind(session)
        return Object.assign(session, { run: (statement: Parameters<typeof run>[0]) => { values.push(...statement.params); return run(statement) } })
      },
    },
  }
}

onStores((scenario) => {
  scenario('P4: the owner of every attempt is random, and says nothing of host or process', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('job', { everyMs: 1_000, retry: { max: 1, backoffMs: 0 } }, ({ attempt }) => { if (attempt === 1) throw new Error('again') })
    await node.scheduler.start()
    await cluster.until('two runs', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 2, 40_000)
    const owners = node.events('execution.started').map(({ owner }) => owner)
    expect(owners.length).toBeGreaterThanOrEqual(4)
    expect(new Set(owners).size).toBe(owners.length)
    for (const owner of owners) expect(owner).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  scenario('P9: no Date is bound to a statement, nor anything else but text, safe numbers and null', async (cluster) => {
    const values: unknown[] = []
    const node = cluster.node({}, recordingValues(cluster.store.connect(), values))
    node.scheduler.task('job', { everyMs: 1_000, retry: { max: 1, backoffMs: 12.5 } }, async (ctx) => {
      if (ctx.attempt === 1) throw new Error('')
      await ctx.transaction(() => {})
    })
    await node.scheduler.start()
    await node.event('execution.succeeded')
    expect(values.length).toBeGreaterThan(50)
    const wrong = values.filter((value) => value !== null && !(typeof value === 'string' && value !== '') && !(typeof value === 'number' && Number.isSafeInteger(value)))
    expect(wrong).toEqual([])
  })

  scenario('P5: the abort event comes by itself when the database is gone, within the lease', async (cluster) => {
    const leaseMs = 6_000
    const node = cluster.node({ leaseMs })
    let abortedAfterMs: number | undefined
    node.scheduler.task('job', { everyMs: 1_000 }, async ({ signal }) => {
      if (abortedAfterMs !== undefined) return
      // Nobody renews the lease any more, and nobody looks at the signal either.
      await cluster.query(`UPDATE sched_nodes SET lease_until = 1`)
      const began = performance.now()
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => { abortedAfterMs = performance.now() - began; resolve() })
        setTimeout(resolve, 2 * leaseMs)
      })
    })
    await node.scheduler.start()
    await node.event('execution.fenced')
    expect(abortedAfterMs).toBeLessThan(leaseMs)
  })
})
