import { tableNames, type LockConnection } from '@sched/core/spi'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { Observer } from '../src/run/observer.ts'
import { sqliteFile } from './sqlite-file.ts'

function observerOf(): Observer {
  const dialect = sqlite({ file: sqliteFile(onTestFinished) })
  const observer = new Observer(dialect.locks, { signal: new AbortController().signal, leaseMs: 10_000, label: 'sched:test:observer', tables: tableNames(dialect.store!.sql) })
  onTestFinished(async () => {
    observer.close()
    await dialect.close()
  })
  return observer
}

const itself = (connection: LockConnection): Promise<LockConnection> => Promise.resolve(connection)

it('asks again on a new connection when the one it had was lost', async () => {
  const observer = observerOf()
  const first = await observer.ask(itself)
  expect(await observer.ask(itself)).toBe(first)
  first.destroy()
  const asked: LockConnection[] = []
  await observer.ask(async (connection) => {
    asked.push(connection)
    await connection.ping()
  })
  expect(asked).toHaveLength(2)
  expect(asked[0]).toBe(first)
  expect(asked[1]).not.toBe(first)
})

it('tells what went wrong otherwise instead of asking again, and goes on with a new connection', async () => {
  const observer = observerOf()
  const first = await observer.ask(itself)
  let asked = 0
  await expect(observer.ask(() => { throw new Error(`failure ${++asked}`) })).rejects.toThrow('failure 1')
  expect(asked).toBe(1)
  expect(await observer.ask(itself)).not.toBe(first)
})
