import { setTimeout as sleep } from 'node:timers/promises'
import { lockTable } from '@sched/dialect-locktable'
import { runConformance, type Report } from '@sched/selftest'
import { describe, expect, it } from 'vitest'
import { classifySqlServer, serverNumbers } from '../../src/errors/classify.ts'
import { sqlserver } from '../../src/index.ts'
import { applockStrategy as locks } from '../../src/locks/applock-strategy.ts'
import { describedResource, lockResource, visiblePart } from '../../src/locks/lock-resource.ts'
import { getApplock, getApplockValues, releaseApplock, releaseApplockValues } from '../../src/locks/applock-statements.ts'
import { fragments } from '../../src/store/fragments.ts'
import { eventually, holding, name, openLocks, openStore, request } from '../support/scene.ts'
import { containersObstacle, startSqlServer, type SqlServerImage } from './sqlserver-container.ts'

// What the stand-in can only repeat from documents, asked of the servers themselves. Each is a line of the checklist in docs/databases.md.
const obstacle = await containersObstacle()
const images: readonly SqlServerImage[] = ['2019-latest', '2022-latest', '2025-latest']
const failures = ({ cases }: Report): string[] => cases.filter(({ verdict }) => verdict === 'fail').map(({ id, failure }) => `${id}: ${failure?.message}`)

for (const image of images) {
  describe.skipIf(obstacle !== undefined)(`SQL Server ${image} in a container${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
    it('passes the suite, native locks and lock table, and is what is documented of it', async () => {
      await using server = await startSqlServer(image)
      const { url } = server
      for (const dialect of [sqlserver({ url }), lockTable(sqlserver({ url }))]) {
        const report = await runConformance(dialect, { url, allowKill: true })
        expect(failures(report)).toEqual([])
        expect(report.verdict).toBe('passed')
        await dialect.close()
      }
      await locksAreAsDocumented(url)
      await textsAreAsDocumented(url)
      await hintsAreAsDocumented(url)
    }, 900_000)
  })
}

async function locksAreAsDocumented(url: string): Promise<void> {
  const [one, two] = [await openLocks({ url }), await openLocks({ url })]
  const resource = lockResource(name('x'.repeat(80)))
  // Codes 0, 1, -1; error 1223 with -999 for a lock that is not held.
  expect((await one.session.call(getApplock, getApplockValues(resource, 0), 5_000)).status).toBe(0)
  expect((await two.session.call(getApplock, getApplockValues(resource, 0), 5_000)).status).toBe(-1)
  const waiting = two.session.call(getApplock, getApplockValues(resource, 5_000), 10_000)
  await sleep(200)
  const { rows } = await one.sql.run({ text: "SELECT resource_description FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION' AND request_status = 'GRANT'", params: [] })
  expect(rows.map((row) => describedResource(String(row['resource_description'])))).toContain(visiblePart(resource))
  expect((await one.session.call(releaseApplock, releaseApplockValues(resource), 5_000)).status).toBe(0)
  expect((await waiting).status).toBe(1)
  const notHeld = await one.session.call(releaseApplock, releaseApplockValues(resource), 5_000)
  expect([notHeld.status, ...serverNumbers(notHeld.error)]).toEqual([-999, 1223])
  // A wrong parameter, with its error.
  const wrong = await one.session.call(getApplock, { ...getApplockValues('x', 0), LockMode: 'NoSuchMode' }, 5_000)
  expect(wrong.status).toBe(-999)
  // A cancelled wait: the attention is answered, and nothing is held afterwards.
  const impatient = await openLocks({ url }, { leaseMs: 1_000 })
  const cancelled: unknown = await impatient.session.call(getApplock, getApplockValues(resource, 30_000), 300).catch((error: unknown) => error)
  expect(classifySqlServer(cancelled)).toBe('query-timeout')
  expect(await locks.isHeld(impatient, holding('x'.repeat(80)))).toBe('other')
  // A destroyed waiter leaves the queue without anybody's help.
  const gone = await openLocks({ url })
  void locks.lock?.(gone, request('x'.repeat(80)), 60_000).catch(() => {})
  await sleep(200)
  gone.destroy()
  await eventually(async () => (await one.sql.run({ text: "SELECT COUNT(*) AS n FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION' AND request_status = 'WAIT'", params: [] })).rows[0]?.['n'] === 0, 10_000)
  // Deadlock: -3 for one, and both keep what they have.
  await locks.tryLock(one, request('a'))
  await locks.tryLock(two, request('b'))
  const outcomes = await Promise.allSettled([locks.lock!(one, request('b'), 20_000), locks.lock!(two, request('a'), 20_000)].map((work, index) => work.catch((error: unknown) => {
    return locks.release([one, two][index]!, holding(['a', 'b'][index]!)).then(() => { throw error })
  })))
  expect(outcomes.filter((outcome) => outcome.status === 'rejected').map((outcome) => classifySqlServer(outcome.reason))).toEqual(['deadlock'])
}

async function textsAreAsDocumented(url: string): Promise<void> {
  const session = await openStore(sqlserver({ url }))
  const run = (text: string, ...params: (string | number)[]) => session.run({ text, params })
  await run(fragments.createTable('[names]', `k ${fragments.types.name(128)} NOT NULL, n ${fragments.types.integer}, PRIMARY KEY (k)`))
  const keys = ['a', 'A', 'a ', 'a  ', 'ä', 'ａ', '😀', '漢 ']
  for (const [index, key] of keys.entries()) await run('INSERT INTO [names] (k, n) VALUES (?, ?)', key, index)
  for (const [index, key] of keys.entries()) expect((await run('SELECT k, n FROM [names] WHERE k = ?', key)).rows).toEqual([{ k: key, n: index }])
  // What makes the mark necessary.
  expect((await run("SELECT CASE WHEN N'a' COLLATE Latin1_General_BIN2 = N'a ' COLLATE Latin1_General_BIN2 THEN 1 ELSE 0 END AS same")).rows).toEqual([{ same: 1 }])
  const failing = (text: string): Promise<readonly number[]> => session.run({ text, params: [] }).then(() => [], serverNumbers)
  expect(await failing("INSERT INTO [names] (k) VALUES (N'a')")).toContain(2627)
  expect(await failing('SELECT 1 FROM [nothing]')).toEqual([208])
  expect(await failing('CREATE TABLE [names] (k int)')).toEqual([2714])
}

async function hintsAreAsDocumented(url: string): Promise<void> {
  const [one, two] = [await openStore(sqlserver({ url }), 'store', { rowLockMs: 200 }), await openStore(sqlserver({ url }), 'store', { rowLockMs: 200 })]
  await one.begin()
  await one.run({ text: `SELECT n FROM [names]${fragments.lockHint ?? ''} WHERE k = ?`, params: ['a'] })
  // UPDLOCK keeps other writers out, not readers; 1222 after LOCK_TIMEOUT.
  expect((await two.run({ text: 'SELECT n FROM [names] WHERE k = ?', params: ['a'] })).rows).toHaveLength(1)
  const refused: unknown = await two.run({ text: 'UPDATE [names] SET n = 9 WHERE k = ?', params: ['a'] }).catch((error: unknown) => error)
  expect(serverNumbers(refused)).toEqual([1222])
  // NOLOCK reads past a writer.
  await one.run({ text: 'UPDATE [names] SET n = 7 WHERE k = ?', params: ['a'] })
  expect((await two.run({ text: `SELECT n FROM [names]${fragments.readHint} WHERE k = ?`, params: ['a'] })).rows).toHaveLength(1)
  // XACT_ABORT ends the transaction, ROLLBACK then answers 3903, which is tolerated.
  expect(classifySqlServer(await one.run({ text: 'INSERT INTO [names] (k) VALUES (?)', params: ['A'] }).catch((error: unknown) => error))).toBe('duplicate-key')
  await one.rollback()
  expect((await two.run({ text: 'SELECT n FROM [names] WHERE k = ?', params: ['a'] })).rows).toEqual([{ n: 0 }])
}
