import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describePrivatePostgres, describeServer, type PostgresVersion } from '@sched-dev/databases'
import type { SlotInsert, SqlRow, SqlSession, Tables } from '@sched/core/spi'
import { postgres } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { slotInsert } from '../src/store/slot-insert.ts'
import { emptyDatabase, openStore } from './support/scene.ts'

const tables: Tables = { tasks: '"sched_tasks"', executions: '"sched_executions"', nodes: '"sched_nodes"', meta: '"sched_meta"', locks: '"sched_locks"' }

// The columns that statement N reads and writes, of the types the core asks for.
async function createTables(session: SqlSession): Promise<void> {
  const { types } = fragments
  for (const statement of [
    fragments.createTable(tables.tasks, `namespace ${types.ascii(32)} NOT NULL, task_name ${types.name(128)} NOT NULL, definition_hash ${types.ascii(64)} NOT NULL, state ${types.ascii(16)} NOT NULL, armed_from ${types.integer} NOT NULL, PRIMARY KEY (namespace, task_name)`),
    fragments.createTable(tables.executions, `namespace ${types.ascii(32)} NOT NULL, execution_id ${types.ascii(64)} NOT NULL, task_name ${types.name(128)} NOT NULL, fire_time ${types.integer} NOT NULL, slot_key ${types.ascii(36)} NOT NULL, state ${types.ascii(16)} NOT NULL, origin ${types.ascii(16)} NOT NULL, attempt ${types.integer} NOT NULL, crash_count ${types.integer} NOT NULL, due_at ${types.integer} NOT NULL, created_at ${types.integer} NOT NULL, definition_hash ${types.ascii(64)} NOT NULL, error_text ${types.text}, result_text ${types.longText}, PRIMARY KEY (namespace, execution_id), UNIQUE (namespace, task_name, fire_time, slot_key)`),
    fragments.createIndex('sched_executions_state_ix', tables.executions, 'namespace, state, due_at'),
  ]) await session.run({ text: statement, params: [] })
  await session.run({ text: `INSERT INTO ${tables.tasks} VALUES (?, ?, ?, ?, ?)`, params: ['ns', 'täsk', 'hash', 'active', 0] })
}

const slot = (overrides: Partial<SlotInsert> = {}): SlotInsert => ({
  namespace: 'ns', executionId: randomUUID(), taskName: 'täsk', definitionHash: 'hash', fireTime: Date.now(), dueAt: Date.now() + 5, maxClaimAgeMs: 60_000, toleranceMs: 5_000, ...overrides,
})

async function insert(session: SqlSession, values: SlotInsert): Promise<SqlRow> {
  const { rows } = await session.run(slotInsert(tables, values))
  expect(rows).toHaveLength(1)
  expect(Math.abs(rows[0]!['db_now'] as number - Date.now())).toBeLessThan(5_000)
  return rows[0]!
}

describeServer(['postgres', 'postgres-middle', 'postgres-oldest', 'pgbouncer-transaction'], ({ name, url: serverUrl }) => {
  const shared = { sharedSessions: name === 'pgbouncer-transaction' }
  const inTransaction = async <T>(session: SqlSession, work: () => Promise<T>): Promise<T> => {
    await session.begin()
    const result = await work()
    await session.commit()
    return result
  }

  it('wins a fire time once, and says taken to everybody else (P1)', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', shared)
    await inTransaction(session, () => createTables(session))
    const values = slot()
    expect(await inTransaction(session, () => insert(session, values))).toMatchObject({ won: 1, eligible: 1 })
    expect(await inTransaction(session, () => insert(session, values))).toMatchObject({ won: 0, eligible: 1 }) // its own answer was lost: read back by id
    expect(await inTransaction(session, () => insert(session, { ...values, executionId: randomUUID() }))).toMatchObject({ won: 0, eligible: 1 })
    const { rows } = await session.run({ text: `SELECT * FROM ${tables.executions}`, params: [] })
    const { created_at: createdAt, ...row } = rows[0]!
    expect(rows).toHaveLength(1)
    expect(row).toEqual({
      namespace: 'ns', execution_id: values.executionId, task_name: 'täsk', fire_time: values.fireTime, slot_key: 'cron', state: 'pending', origin: 'scheduled',
      attempt: 0, crash_count: 0, due_at: values.dueAt, definition_hash: 'hash', error_text: null, result_text: null,
    })
    expect(Math.abs(createdAt as number - Date.now())).toBeLessThan(5_000)
  })

  it('inserts nothing when a guard does not hold, and gives the database\'s time (P1, P9)', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', shared)
    await inTransaction(session, () => createTables(session))
    const now = Date.now()
    for (const broken of [
      { namespace: 'other' }, { taskName: 'task' }, { definitionHash: 'newer' }, { fireTime: 0 },
      { fireTime: now - 61_000 - 5_000 }, { fireTime: now + 60_000 },
    ]) expect([broken, await inTransaction(session, () => insert(session, slot(broken)))]).toEqual([broken, expect.objectContaining({ won: 0, eligible: 0 })])
    await inTransaction(session, () => session.run({ text: `UPDATE ${tables.tasks} SET state = 'paused'`, params: [] }))
    expect(await inTransaction(session, () => insert(session, slot()))).toMatchObject({ won: 0, eligible: 0 })
    expect((await session.run({ text: `SELECT execution_id FROM ${tables.executions}`, params: [] })).rows).toEqual([])
  })
})

for (const version of ['newest', 'oldest'] satisfies PostgresVersion[]) {
  describePrivatePostgres(version, (start) => {
    it('has one winner per fire time among many, and writes no line for losers into the server\'s log (P1)', async () => {
      await using server = await start({ settings: { default_transaction_isolation: 'serializable' } })
      const dialect = postgres({ url: server.url })
      const sessions = await Promise.all(Array.from({ length: 8 }, () => openStore(dialect, 'store', { statementMs: 10_000, rowLockMs: 10_000 }))) // a loser waits for the winner's commit
      await createTables(sessions[0]!)
      const before = errorLines(server.folder)
      for (let round = 0; round < 50; round++) {
        const fireTime = Date.now() + round
        const outcomes = await Promise.all(sessions.map((session) => insert(session, slot({ fireTime }))))
        expect(outcomes.map(({ won }) => won).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 1])
        expect(outcomes.every(({ eligible }) => eligible === 1)).toBe(true)
      }
      expect(errorLines(server.folder)).toEqual(before)
      await expect(sessions[0]!.run({ text: 'SELECT nothing', params: [] })).rejects.toThrow()
      expect(errorLines(server.folder).length).toBe(before.length + 1) // the log would have shown it
    }, 60_000)
  })
}

function errorLines(folder: string): string[] {
  return readFileSync(join(folder, 'log'), 'utf8').split('\n').filter((line) => /ERROR|FATAL|WARNING/.test(line))
}
