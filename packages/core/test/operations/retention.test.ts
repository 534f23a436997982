import { createScheduler } from '@sched/core'
import { eventually } from '@sched-dev/databases'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { delay, virtualNodes, type Step } from '../../src/testing/index.ts'

const hourMs = 3_600_000

it('P1: deletes ended executions behind the floor, never the newest, never what is open', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sched-retention-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sched.db')
  const start = async (retentionMs: number, done: () => boolean = () => true): Promise<void> => {
    const scheduler = createScheduler({ dialect: sqlite({ file }), namespace: 'keep', leaseMs: 30_000, heartbeatMs: 300, signals: false, retentionMs })
    scheduler.task('yearly', { cron: '0 0 1 1 *' }, () => undefined)
    await scheduler.start()
    // Several heartbeats, in which it deletes more if it is wrong; and until it has deleted what it should.
    await sleep(1200)
    await eventually(done)
    await scheduler.stop()
  }
  await start(Infinity)

  const database = new DatabaseSync(file, { timeout: 5_000 })
  onTestFinished(() => database.close())
  const now = Date.now()
  const insert = database.prepare(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, finished_at, definition_hash) VALUES ('keep', ?, 'yearly', ?, 'cron', ?, 'scheduled', 1, 0, 0, 0, ?, 'x')`)
  const row = (id: string, ageHours: number, state: string): void => { insert.run(id, now - ageHours * hourMs, state, state === 'retry' ? null : now - ageHours * hourMs) }
  row('ancient', 300, 'succeeded')
  row('old', 26, 'failed')
  row('open', 200, 'pending')
  row('within the floor', 24, 'succeeded') // claimable for 24 h, plus one
  row('newest', 23, 'succeeded')
  database.prepare(`UPDATE sched_executions SET finished_at = NULL WHERE state = 'pending'`).run()
  const ids = (): string[] => database.prepare('SELECT execution_id FROM sched_executions ORDER BY fire_time').all().map(({ execution_id: id }) => id as string)

  await start(Infinity)
  expect(ids()).toContain('ancient')
  await start(0, () => !ids().includes('ancient') && !ids().includes('old'))
  expect(ids()).toEqual(['open', 'within the floor', 'newest'])

  // The newest row stays however old it is: it says up to when everything is settled.
  database.prepare(`DELETE FROM sched_executions WHERE execution_id <> 'newest'`).run()
  database.prepare('UPDATE sched_executions SET fire_time = ?, finished_at = ?').run(now - 1000 * hourMs, now - 1000 * hourMs)
  await start(0)
  expect(ids()).toEqual(['newest'])
})

it('P1: deletes what removed tasks have left too, behind the floor of their own definition', async () => {
  const cluster = virtualNodes(1, {
    startAt: '2030-01-05T00:30:00Z', scheduler: (index) => ({ leaseMs: 900_000, heartbeatMs: 300_000, retentionMs: 0, revision: index + 1 }),
    tasks: (node) => {
      node.task('kept', { cron: '0 0 1 1 *' }, () => undefined)
      if (node.index > 0) return
      node.task('gone', { everyMs: hourMs }, () => undefined)
      node.task('patient', { everyMs: hourMs, misfire: 'run-all', runAll: { maxAgeMs: 48 * hourMs } }, () => undefined)
    },
  })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  await cluster.advance(10 * hourMs)
  await cluster.clock.until(cluster.nodes[0]!.stop())
  cluster.add()
  await cluster.start()
  await cluster.advance(14 * hourMs)
  expect([cluster.ledger('gone').length, cluster.ledger('patient').length]).toEqual([10, 10])
  await cluster.advance(20 * hourMs)
  expect([cluster.ledger('gone').length, cluster.ledger('patient').length]).toEqual([1, 10])
  await cluster.advance(24 * hourMs)
  expect([cluster.ledger('gone').length, cluster.ledger('patient').length]).toEqual([1, 1])
})

it('P12: with nothing to delete it asks once, however many tasks there are; what is old goes with a few statements', async () => {
  const taskCount = 60
  const cluster = virtualNodes(1, {
    startAt: '2030-01-05T00:30:00Z', scheduler: { leaseMs: 900_000, heartbeatMs: 300_000, retentionMs: 0 },
    tasks: (node) => {
      for (let index = 0; index < taskCount; index += 1) node.task(`yearly-${index}`, { cron: '0 0 1 1 *' }, () => undefined)
      node.task('busy', { everyMs: 300_000 }, () => undefined)
    },
  })
  onTestFinished(() => cluster.stop())
  const texts: string[] = []
  cluster.faults.before(({ text }: Step) => {
    if (/finished_at < |^DELETE FROM \S+executions/.test(text)) texts.push(text)
    return false
  }, delay(0))
  await cluster.start()
  await cluster.advance(3 * hourMs + 60_000)
  expect(texts.length).toBeLessThanOrEqual(4)
  expect(texts.length).toBeGreaterThanOrEqual(3)
  await cluster.advance(22 * hourMs)
  texts.length = 0
  // Twelve an hour are beyond a day and an hour.
  await cluster.advance(4 * hourMs)
  expect(cluster.ledger('busy').length).toBeLessThanOrEqual(12 * 26)
  const deletions = texts.filter((text) => text.startsWith('DELETE')).length
  expect(deletions).toBeGreaterThanOrEqual(3)
  expect(deletions).toBeLessThanOrEqual(5)
})
