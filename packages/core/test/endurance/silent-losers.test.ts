import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describePrivateMysql, describePrivatePostgres } from '@sched-dev/databases'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Cluster } from '../executor/cluster.ts'
import { connector, type Product } from '../ledger/connector.ts'
import { emptySqlite, type EmptyStore } from '../ledger/store-ground.ts'

const instances = 10
const tasks = 3
const seconds = 20
const timeoutMs = 180_000

/** Ten instances, sixty fire times that nine of them lose each: returns what the server wrote into its log meanwhile. */
async function race(store: EmptyStore, readLog: () => string): Promise<string> {
  const cluster = new Cluster(store)
  onTestFinished(() => cluster.end())
  const said: string[] = []
  const nodes = Array.from({ length: instances }, () => {
    const node = cluster.node({ leaseMs: 15_000, heartbeatMs: 4_000, drainMs: 10_000, lockVeto: 'auto', log: (line) => { said.push(line) } })
    for (let index = 0; index < tasks; index += 1) node.scheduler.task(`tick-${index}`, { everyMs: 1_000 }, () => sleep(20))
    return node
  })
  await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
  const planned = said.length
  const before = readLog()
  await sleep(seconds * 1_000)
  await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
  const log = readLog().slice(before.length)

  const rows = await cluster.executions()
  expect(rows.length).toBeGreaterThanOrEqual(tasks * (seconds - 2))
  // How many depends on the machine: a run that it delays stands in the way of the next.
  expect(new Set(rows.filter(({ state }) => state === 'succeeded').map(({ task_name }) => task_name)).size).toBe(tasks)
  // Who has won such a slot says so, and nobody else.
  expect(nodes.flatMap((node) => node.events('slot.skipped'))).toHaveLength(rows.filter(({ state }) => state === 'skipped').length)
  // Everybody took part, and nobody has anything to say about what others won.
  for (const name of ['error', 'warning', 'lock.foreign', 'execution.failed', 'execution.fenced', 'node.lost'] as const) expect(nodes.flatMap((node) => node.events(name)), name).toEqual([])
  expect(said.slice(planned)).toEqual([])
  return log
}

async function storeAt(product: Product, url: string): Promise<EmptyStore> {
  const connect = await connector(product)
  return { product, address: url, connect: () => connect(url), end: () => Promise.resolve() }
}

const errorLines = (log: string): string[] => log.split('\n').filter((line) => /error|fatal|panic|warn|deadlock/i.test(line))

describe('on SQLite', () => {
  it('P10: ten instances, sixty fire times: who loses one says nothing', async () => { await race(await emptySqlite(), () => '') }, timeoutMs)
})

describePrivatePostgres('newest', (start) => {
  it('P10: ten instances, sixty fire times: who loses one says nothing, and the server logs no error', async () => {
    await using server = await start()
    const read = (): string => readFileSync(join(server.folder, 'log'), 'utf8')
    expect(errorLines(await race(await storeAt('PostgreSQL', server.url), read))).toEqual([])
  }, timeoutMs)
})

describePrivateMysql(['mysql', 'mariadb'], (start, template) => {
  it('P10: ten instances, sixty fire times: who loses one says nothing, and the server logs no error', async () => {
    // Everything that it can say about clients.
    await using server = await start({ settings: template === 'mysql' ? { 'log-error-verbosity': 3, 'innodb-print-all-deadlocks': 1 } : { 'log-warnings': 4, 'innodb-print-all-deadlocks': 1 } })
    const read = (): string => readFileSync(join(server.folder, 'log'), 'utf8')
    expect(errorLines(await race(await storeAt(template === 'mysql' ? 'MySQL' : 'MariaDB', server.url), read))).toEqual([])
  }, timeoutMs)
})
