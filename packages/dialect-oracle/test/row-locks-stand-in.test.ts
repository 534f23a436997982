import { describe, expect, it } from 'vitest'
import { fragments } from '../src/store/fragments.ts'
import { errorOf, Ground } from './support/ground.ts'

const table = fragments.quote('sched_try')
const create = fragments.createTable(table, `id ${fragments.types.integer} NOT NULL, note ${fragments.types.name(50)}, long_text ${fragments.types.longText}, PRIMARY KEY (id)`)

async function tableOn(ground: Ground): Promise<void> {
  const session = await ground.openStore()
  await session.run({ text: create, params: [] })
  for (const id of [1, 2]) await session.run({ text: `INSERT INTO ${table} (id, note) VALUES (?, ?)`, params: [id, 'as it was'] })
  session.destroy()
}

const update = (id: number, note: string): { text: string; params: (string | number)[] } => ({ text: `UPDATE ${table} SET note = ? WHERE id = ? AND (note IS NOT NULL)`, params: [note, id] })

describe('stand-in at the wire: rows and transactions', () => {
  it('gives up on a row that somebody holds after a second, and on no other', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const [frozen, sweeper] = [await ground.openStore('transaction'), await ground.openStore()]
    await frozen.begin()
    expect((await frozen.run(update(1, 'not committed'))).affected).toBe(1)

    const startedAt = performance.now()
    await sweeper.begin()
    const error = await errorOf(sweeper.run(update(1, 'recovered')))
    await sweeper.rollback()
    const waitedMs = performance.now() - startedAt
    expect(ground.dialect.store?.classify(error)).toBe('lock-timeout')
    expect(waitedMs).toBeGreaterThan(950)
    expect(waitedMs).toBeLessThan(4_000) // slack for a loaded machine; without a limit it would be the statement's 5 s
    expect((await sweeper.run(update(2, 'recovered'))).affected).toBe(1)

    frozen.destroy()
    await expect.poll(async () => (await sweeper.run(update(1, 'recovered'))).affected).toBe(1)
  })

  it('asks without waiting where its limits leave no room for a second', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const [frozen, hurried] = [await ground.openStore('transaction'), await ground.openStore('store', { statementMs: 900, rowLockMs: 100 })]
    await frozen.begin()
    await frozen.run(update(1, 'not committed'))
    const tookMs: number[] = []
    for (let tries = 0; tries < 3; tries += 1) {
      const startedAt = performance.now()
      expect(ground.dialect.store?.classify(await errorOf(hurried.run(update(1, 'x'))))).toBe('lock-timeout')
      tookMs.push(performance.now() - startedAt)
    }
    // One try in three may fall into a moment in which the machine is busy.
    expect(Math.min(...tookMs)).toBeLessThan(900)
  })

  it('locks the row of a SELECT for as long as the transaction, with the same limit', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const [one, two] = [await ground.openStore(), await ground.openStore()]
    const select = { text: `SELECT note FROM ${table} WHERE id = ?${fragments.lockRow}`, params: [1] }
    await one.begin()
    expect((await one.run(select)).rows).toEqual([{ note: 'as it was' }])
    expect(ground.dialect.store?.classify(await errorOf(two.run(select)))).toBe('lock-timeout')
    await one.rollback()
    expect((await two.run(select)).rows).toHaveLength(1)
  })

  it('breaks off an insert that waits for an uncommitted row of the same key', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const [one, two] = [await ground.openStore('transaction'), await ground.openStore('store', { statementMs: 600 })]
    const insert = { text: `INSERT INTO ${table} (id, note) VALUES (?, ?)`, params: [3, 'new'] }
    await one.begin()
    await one.run(insert)
    expect(ground.dialect.store?.classify(await errorOf(two.run(insert)))).toBe('query-timeout')
    await one.commit()
    expect(ground.dialect.store?.classify(await errorOf(two.run(insert)))).toBe('duplicate-key')
  })

  it('commits each statement that stands alone, and keeps a transaction to itself until it commits', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const [writer, reader] = [await ground.openStore(), await ground.openStore()]
    const read = async (): Promise<unknown> => (await reader.run({ text: `SELECT note FROM ${table} WHERE id = ?`, params: [1] })).rows[0]?.['note']
    await writer.run(update(1, 'alone'))
    expect(await read()).toBe('alone')
    await writer.begin()
    await writer.run(update(1, 'inside'))
    expect(await read()).toBe('alone')
    await writer.commit()
    expect(await read()).toBe('inside')
    await writer.begin()
    await writer.run(update(1, 'taken back'))
    await writer.rollback()
    expect(await read()).toBe('inside')
  })

  it('undoes a statement that fails, and lets the transaction go on', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const session = await ground.openStore()
    await session.begin()
    await session.run(update(1, 'kept'))
    expect(ground.dialect.store?.classify(await errorOf(session.run({ text: `INSERT INTO ${table} (id) VALUES (?)`, params: [2] })))).toBe('duplicate-key')
    await session.commit()
    expect((await session.run({ text: `SELECT note FROM ${table} WHERE id = ?`, params: [1] })).rows[0]).toEqual({ note: 'kept' })
  })

  it('stores text of any length, numbers exactly, and nothing for an empty string', async () => {
    const ground = await Ground.start()
    await tableOn(ground)
    const session = await ground.openStore()
    const long = 'ä'.repeat(20_000)
    for (const text of [long, 'short', long]) {
      await session.run({ text: `UPDATE ${table} SET long_text = ?, note = ? WHERE id = ?`, params: [text, '', 1] })
      expect((await session.run({ text: `SELECT id, note, long_text FROM ${table} WHERE id = ?`, params: [1] })).rows).toEqual([{ id: 1, note: null, long_text: text }])
    }
    const edge = [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1_796_070_000_123, 100, -7, 0]
    for (const value of edge) expect((await session.run({ text: 'SELECT ? + 0 AS value FROM DUAL', params: [value] })).rows).toEqual([{ value }])
  })

  it('sets what it promises on sessions of its own, and nothing of it on one that is lent', async () => {
    const ground = await Ground.start()
    await ground.openStore()
    const [own] = [...ground.server.sessions]
    expect(own?.settings).toEqual([
      'NLS_COMP = BINARY NLS_SORT = BINARY', 'ISOLATION_LEVEL = READ COMMITTED', 'DDL_LOCK_TIMEOUT = 1', 'COMMIT_LOGGING = IMMEDIATE COMMIT_WAIT = WAIT',
    ])
    await ground.openStore('transaction')
    expect([...ground.server.sessions].at(-1)?.settings).toEqual([])
  })

  it('opens on an Autonomous Database, which refuses some of it', async () => {
    const ground = await Ground.start({ cloudService: 'OLTP' })
    await ground.openStore()
    expect([...ground.server.sessions][0]?.settings).toContain('ISOLATION_LEVEL = READ COMMITTED')
  })
})
