import { createScheduler } from '@sched/core'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'

const hourMs = 3_600_000

it('P1: deletes ended executions behind the floor, never the newest, never what is open', { timeout: 20_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sched-retention-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sched.db')
  const start = async (retentionMs: number): Promise<void> => {
    const scheduler = createScheduler({ dialect: sqlite({ file }), namespace: 'keep', leaseMs: 1500, heartbeatMs: 300, signals: false, retentionMs })
    scheduler.task('yearly', { cron: '0 0 1 1 *' }, () => undefined)
    await scheduler.start()
    await sleep(1200)
    await scheduler.stop()
  }
  await start(Infinity)

  const database = new DatabaseSync(file)
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
  await start(0)
  expect(ids()).toEqual(['open', 'within the floor', 'newest'])

  // The newest row stays however old it is: it says up to when everything is settled.
  database.prepare(`DELETE FROM sched_executions WHERE execution_id <> 'newest'`).run()
  database.prepare('UPDATE sched_executions SET fire_time = ?, finished_at = ?').run(now - 1000 * hourMs, now - 1000 * hourMs)
  await start(0)
  expect(ids()).toEqual(['newest'])
})
