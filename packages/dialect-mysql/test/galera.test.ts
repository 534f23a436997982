import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeServer, server } from '@sched-dev/databases'
import { createScheduler } from '@sched/core'
import { mysql } from '../src/index.ts'
import { classifyMysql } from '../src/errors/classify.ts'
import { emptyDatabase, errorOf, eventually, onlooker, openStore } from './support/scene.ts'
import { tableLocks } from './support/lock-table.ts'

/** The same database through the other node. */
function throughSecondNode(url: string): string {
  const second = server('galera-2')
  if (!second.available) throw new Error(second.reason)
  const other = new URL(url)
  other.port = new URL(second.url).port
  return other.href
}

describeServer('galera-1', ({ url: serverUrl }) => {
  describe('two nodes', () => {
    it('P11: really grant GET_LOCK on both at the same time, which is why it is refused', async () => {
      const [one, two] = [await onlooker(serverUrl), await onlooker(throughSecondNode(serverUrl))]
      const key = randomUUID()
      expect([(await one.query('SELECT GET_LOCK(?, 0) AS g', [key]))[0]?.['g'], (await two.query('SELECT GET_LOCK(?, 0) AS g', [key]))[0]?.['g']]).toEqual([1, 1])
    })

    it('P2, P10: commit one of two updates of a row; the other gets 1213 at its COMMIT, and is not committed', async () => {
      const url = await emptyDatabase(serverUrl)
      const dialects = [mysql({ url }), mysql({ url: throughSecondNode(url) })] as const
      const [one, two] = [await openStore(dialects[0], 'store'), await openStore(dialects[1], 'store')]
      await one.run({ text: 'CREATE TABLE t (k VARBINARY(9) PRIMARY KEY, owner VARBINARY(9)) ENGINE=InnoDB', params: [] })
      await one.run({ text: "INSERT INTO t VALUES ('k', NULL)", params: [] })
      await eventually(async () => (await two.run({ text: 'SELECT k FROM t', params: [] })).rows.length === 1)
      const take = (session: typeof one, owner: string): Promise<unknown> => session.run({ text: "UPDATE t SET owner = ? WHERE k = 'k' AND owner IS NULL", params: [owner] })
      await one.begin()
      await two.begin()
      expect([await take(one, 'one'), await take(two, 'two')]).toMatchObject([{ affected: 1 }, { affected: 1 }])
      await one.commit()
      const error = await errorOf(two.commit())
      expect([error['errno'], classifyMysql(error)]).toEqual([1213, 'deadlock'])
      await two.rollback()
      expect((await two.run({ text: 'SELECT owner FROM t', params: [] })).rows).toEqual([{ owner: 'one' }])
    })

    it('P2, P7: keep one holder at a time of a lock in the table, asked for on both nodes at once', async () => {
      const url = await emptyDatabase(serverUrl)
      const clients = [url, throughSecondNode(url), url, throughSecondNode(url)].map((each) => tableLocks(each, 'both'))
      await clients[0]!.with('first', async () => {}) // makes the table
      await sleep(500)
      let holders = 0
      const tokens: number[] = []
      await Promise.all(clients.map(async (client) => {
        for (let round = 0; round < 15; round++) {
          const lease = await client.acquire('one', { waitMs: 60_000 })
          expect(++holders).toBe(1)
          tokens.push(lease.fencingToken!)
          await sleep(Math.random() * 5)
          holders--
          expect((await lease.release()).status).toBe('released')
        }
      }))
      expect(new Set(tokens).size).toBe(60)
      expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))
    }, 90_000)

    it('P2: one of many tries at the same moment on both nodes is granted, none of the others', async () => {
      const url = await emptyDatabase(serverUrl)
      const clients = [url, throughSecondNode(url), url, throughSecondNode(url)].map((each) => tableLocks(each, 'race'))
      await clients[0]!.with('first', async () => {})
      await sleep(500)
      for (let round = 0; round < 30; round++) {
        const outcomes = await Promise.all(clients.map((client) => client.tryAcquire(`slot-${round}`)))
        expect(outcomes.filter(({ status }) => status === 'acquired')).toHaveLength(1)
      }
    }, 60_000)

    it('P1, P2: run each slot of a task once, with instances on both nodes, on the ledger alone', async () => {
      const url = await emptyDatabase(serverUrl)
      const starts = new Map<number, number>()
      const warnings: string[] = []
      const errors: string[] = []
      const schedulers = [url, throughSecondNode(url), url].map((each) => {
        const scheduler = createScheduler({ dialect: mysql({ url: each }), namespace: 'galera', leaseMs: 15_000, heartbeatMs: 4_000, signals: false, drainMs: 2_000 })
        scheduler.task('tick', { cron: '* * * * * *', timeoutMs: 5_000, misfire: 'run-all' }, async ({ fireTime }) => {
          starts.set(fireTime.getTime(), (starts.get(fireTime.getTime()) ?? 0) + 1)
          await sleep(50)
        })
        scheduler.on('warning', ({ finding }) => { warnings.push(finding.code) })
        scheduler.on('error', ({ error, where }) => { errors.push(`${where}: ${error.message}`) })
        return scheduler
      })
      onTestFinished(async () => { await Promise.all(schedulers.map((scheduler) => scheduler.stop())) })
      await schedulers[0]!.start()
      await Promise.all(schedulers.slice(1).map((scheduler) => scheduler.start()))
      await eventually(async () => starts.size >= 8, 40_000)
      await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
      expect([...starts.values()].every((count) => count === 1)).toBe(true)
      expect(new Set(warnings)).toEqual(new Set(['SCHED_UNSAFE_CLUSTER']))
      expect(errors).toEqual([])
      // What waits as they stop is for whoever starts next.
      const rows = await (await onlooker(url)).query("SELECT state, COUNT(*) AS n FROM sched_executions WHERE state NOT IN ('succeeded', 'skipped', 'pending') GROUP BY state")
      expect(rows).toEqual([])
    }, 90_000)
  })
})
