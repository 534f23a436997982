import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { lockTable } from '@sched/dialect-locktable'
import { describeServer } from '@sched-dev/databases'
import { encodeLockName } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { emptyDatabase, everyServer, name, onlooker, openOptions } from './support/scene.ts'
import { tableLocks } from './support/lock-table.ts'

describeServer(everyServer, ({ url: serverUrl }) => {
  it('P2, P7: has one holder at a time among many, and tokens that only grow', async () => {
    const url = await emptyDatabase(serverUrl)
    const clients = Array.from({ length: 4 }, () => tableLocks(url, 'contention'))
    const tokens: number[] = []
    let holders = 0
    await Promise.all(clients.flatMap((client) => [1, 2].map(async () => {
      for (let round = 0; round < 8; round++) {
        const lease = await client.acquire('one', { waitMs: 30_000 })
        expect(++holders).toBe(1)
        tokens.push(lease.fencingToken!)
        await sleep(Math.random() * 5)
        holders--
        expect((await lease.release()).status).toBe('released')
      }
    })))
    expect(tokens).toHaveLength(64)
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))
    expect(new Set(tokens).size).toBe(64)
    const rows = await (await onlooker(url)).query('SELECT lock_name, lock_owner FROM sched_locks')
    expect(rows.map((row) => row['lock_owner'] as unknown)).toEqual([null]) // the row stays, so that the token only grows
  }, 60_000)

  it('P4: names that differ by case, trailing space or accent are rows of their own, also past every limit', async () => {
    const url = await emptyDatabase(serverUrl)
    const locks = tableLocks(url, 'names')
    const names = ['a', 'A', 'a ', ' a', 'ä', 'Ä', 'x'.repeat(255), 'X'.repeat(255), '🔒'.repeat(255), "'", '\\', '%', '`', 'ß', 'ss']
    const outcomes = await Promise.all(names.map((each) => locks.tryAcquire(each)))
    expect(outcomes.map(({ status }) => status)).toEqual(names.map(() => 'acquired'))
    const second = tableLocks(url, 'names')
    expect((await Promise.all(names.map((each) => second.tryAcquire(each)))).map(({ status }) => status)).toEqual(names.map(() => 'refused'))
    for (const each of names) expect(await second.inspect(each)).toMatchObject({ fencingToken: expect.any(Number) as number, sinceAt: expect.any(Number) as number })
  }, 30_000)

  it('P10: does not mistake a take-over of an expired row for a refusal, whatever FOUND_ROWS says', async () => {
    const url = await emptyDatabase(serverUrl)
    await tableLocks(url, 'expired').with('a', async () => {})
    for (const flags of [['FOUND_ROWS'], ['-FOUND_ROWS']]) {
      const { readUrl } = await import('../src/connect/url.ts')
      const dialect = lockTable(mysql({ config: { ...readUrl(url), flags } }))
      const tables = { tasks: '', executions: '', nodes: '', meta: '', locks: '`sched_locks`' }
      const [one, two] = [await dialect.locks.open('pulse', openOptions({ tables })), await dialect.locks.open('pulse', openOptions({ tables }))]
      const lock = name('expired')
      const request = (owner: string, leaseMs: number): Parameters<typeof dialect.locks.strategy.tryLock>[1] => ({ name: lock, owner, ownerLabel: 'x', leaseMs })
      expect(await dialect.locks.strategy.tryLock(one, request('first', 10_000))).toMatchObject({ status: 'granted' })
      expect(await dialect.locks.strategy.tryLock(two, request('second', 10_000))).toEqual({ status: 'refused' })
      await one.sql!.run({ text: 'UPDATE sched_locks SET expires_at = 1 WHERE lock_name = ?', params: [encodeLockName(lock, 190)] })
      expect(await dialect.locks.strategy.refresh(one, [{ name: lock, owner: 'first', fencingToken: undefined }], 10_000)).toEqual({ lost: ['first'] })
      expect(await dialect.locks.strategy.tryLock(two, request('second', 10_000))).toMatchObject({ status: 'granted' })
      expect(await dialect.locks.strategy.refresh(two, [{ name: lock, owner: 'second', fencingToken: undefined }], 10_000)).toEqual({ lost: [] })
      expect(await dialect.locks.strategy.refresh(two, [{ name: lock, owner: 'second', fencingToken: undefined }], 10_000)).toEqual({ lost: [] })
      expect(await dialect.locks.strategy.release(two, { name: lock, owner: 'second', fencingToken: undefined })).toEqual({ status: 'released' })
      one.destroy()
      two.destroy()
      await dialect.close()
    }
  })
})
