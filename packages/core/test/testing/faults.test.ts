import { expect, test } from 'vitest'
import type { SessionOptions } from '../../src/spi/store-dialect.ts'
import { delay, fail, freeze, kill, lose, manualClock, memoryDialect, silence, statementNames, virtualNodes, type FaultAction, type Step } from '../../src/testing/index.ts'

const options: SessionOptions = { signal: new AbortController().signal, leaseMs: 3000, label: 'test', statementMs: 1000, rowLockMs: 500, sharedSessions: false }

/** One insert that meets a fault: what the process hears within a second, and whether the row is there. */
async function meet(action: FaultAction): Promise<{ heard: string; rows: number; tookMs: number | undefined }> {
  const clock = manualClock()
  const dialect = memoryDialect({ clock })
  dialect.database.query('CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT')
  const session = await clock.until(dialect.store.open('store', options))
  const fault = dialect.faults.before(/INSERT INTO t/, action)
  let heard = 'nothing'
  let tookMs: number | undefined
  const begin = clock.worldMs()
  const hear = (what: string) => (): void => { heard = what; tookMs = clock.worldMs() - begin }
  session.run({ text: 'INSERT INTO t (id) VALUES (?)', params: [1] }).then(hear('done'), (error: unknown) => { hear(dialect.store.classify(error))() })
  await clock.advance(1000)
  expect(fault.hits).toBe(1)
  return { heard, rows: dialect.database.query('SELECT id FROM t').length, tookMs }
}

test.each<[title: string, action: FaultAction, heard: string, rows: number, tookMs: number | undefined]>([
  ['lost before it was sent', lose('before-send'), 'connection-lost', 0, 0],
  ['its answer lost', lose('before-reply'), 'connection-lost', 1, 0],
  ['vanished on the way there', silence('before-send'), 'nothing', 0, undefined],
  ['vanished on the way back', silence('before-reply'), 'nothing', 1, undefined],
  ['delayed', delay(400), 'done', 1, 400],
  ['its answer delayed', delay(300, 'before-reply'), 'done', 1, 300],
  ['refused', fail('deadlock'), 'deadlock', 0, 0],
  ['done, and refused all the same', fail('query-timeout', 'before-reply'), 'query-timeout', 1, 0],
  ['frozen before it sends', freeze('before-send', 700), 'done', 1, 700],
  ['frozen for ever before it sends', freeze('before-send'), 'nothing', 0, undefined],
  ['frozen before the answer', freeze('before-reply', 500), 'done', 1, 500],
  ['killed before it sends', kill('before-send'), 'nothing', 0, undefined],
  ['killed before the answer', kill('before-reply'), 'nothing', 1, undefined],
])('a statement is %s', async (_title, action, heard, rows, tookMs) => {
  expect(await meet(action)).toEqual({ heard, rows, tookMs })
})

test('what was sent arrives, even when the process has hung up since', async () => {
  const clock = manualClock()
  const dialect = memoryDialect({ clock, latencyMs: 10 })
  dialect.database.query('CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT')
  const session = await clock.until(dialect.store.open('store', options))
  await clock.until(session.begin())
  await clock.until(session.run({ text: 'INSERT INTO t (id) VALUES (1)', params: [] }))
  const commit = session.commit().then(() => 'done', (error: unknown) => dialect.store.classify(error))
  session.destroy()
  expect(await clock.until(commit)).toBe('connection-lost')
  await clock.advance(10)
  expect(dialect.database.query('SELECT id FROM t')).toHaveLength(1)
})

test('a fault may spare some calls, strike several, be of one node, and be taken down', async () => {
  const clock = manualClock()
  const dialect = memoryDialect({ clock })
  const other = dialect.connect('other', clock.sibling())
  const [mine, others] = await clock.until(Promise.all([dialect.store.open('store', options), other.store.open('store', options)]))
  const fault = dialect.faults.before('ping', fail('contended'), { node: 'other', after: 1, times: 2 })
  const ping = (session: { ping(): Promise<void> }): Promise<string> => session.ping().then(() => 'good', () => 'bad')
  expect([await ping(mine), await ping(others), await ping(others), await ping(others), await ping(others), await ping(mine)]).toEqual(['good', 'good', 'bad', 'bad', 'good', 'good'])
  expect(fault.hits).toBe(2)
  dialect.faults.before('ping', fail('contended')).cancel()
  dialect.faults.before('ping', fail('contended'))
  dialect.faults.clear()
  expect(await ping(mine)).toBe('good')
})

// A statement whose text has changed would never meet its fault, and nobody would notice.
test('every statement that has a name is met under it', async () => {
  const met = new Set<string>()
  const cluster = virtualNodes(2, {
    scheduler: { leaseMs: 3000, heartbeatMs: 500 },
    tasks: (node) => { node.task('tick', { everyMs: 1000, recovery: 'retry' }, ({ signal }) => node.sleep(1500, signal)) },
  })
  cluster.faults.before(({ name, block }: Step) => {
    if (name !== undefined) met.add(name === 'COMMIT' && block !== undefined ? `${block} COMMIT` : name)
    return false
  }, fail('unknown'))
  await cluster.start()
  await cluster.clock.until((cluster.nodes[0] as (typeof cluster.nodes)[0]).scheduler.trigger('tick'))
  await cluster.advance(2000)
  cluster.faults.before('finish COMMIT', lose('before-reply'))
  await cluster.advance(3000)
  cluster.database.stop()
  await cluster.advance(4000)
  cluster.database.restart()
  await cluster.advance(4000)
  const runner = cluster.nodes.find((node) => cluster.runs().some((run) => run.node === node.name && run.outcome === 'running'))
  runner?.freeze(6000)
  await cluster.advance(10_000)
  await cluster.stop()
  expect(statementNames.filter((name) => !met.has(name))).toEqual([])
  expect([...met]).toEqual(expect.arrayContaining(['start COMMIT', 'finish COMMIT', 'heartbeat COMMIT', 'recover COMMIT', 'open', 'probe', 'BEGIN', 'ROLLBACK']))
})
