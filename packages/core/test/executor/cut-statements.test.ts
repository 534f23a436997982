import { setTimeout as sleep } from 'node:timers/promises'
import { proxyFor } from '@sched-dev/databases'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { commitAfter, startStatement, successStatement } from './commit-after.ts'
import { runTogether, type Scenario } from './scenarios.ts'

type Cut = 'cutAfterClientBytes' | 'cutBeforeForward'

type Moment = () => (bytes: Buffer, connection: object) => boolean

// So long that a loaded machine is not late by itself: beyond a heartbeat a slot is the scan's, which lets all of them run.
const options = { leaseMs: 10_000, heartbeatMs: 2_000 }
const everyMs = 1_000

const moments: readonly (readonly [string, Moment])[] = [
  ['the slot', () => (bytes) => bytes.includes('ON CONFLICT DO NOTHING')],
  ['the start\'s COMMIT', () => commitAfter(startStatement)],
  ['the finish\'s COMMIT', () => commitAfter(successStatement)],
]

async function cutAt(cluster: Cluster, cut: Cut, moment: Moment): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const tasks = [{ name: 'tick', options: { everyMs, misfire: 'run-all' as const }, handler: { do: 'work', ms: 5 } as const }]
    const cutOff = cluster.instance({ address: proxy.url(cluster.store.address), options, tasks })
    await cutOff.line(({ kind }) => kind === 'end', 60_000)
    const happened = proxy[cut](moment())
    await Promise.race([happened, sleep(20_000).then(() => { throw new Error('no statement was cut') })])
    // Long enough for a slot without an owner to be found as due, or as a hole; then it must not be open.
    await sleep(4_500)
    const rows = await cluster.settled('tick', everyMs)
    await cutOff.stop()

    const last = rows.at(-1)?.['fire_time'] as number
    const starts = cluster.starts('tick').map(({ fireTime }) => fireTime as number).filter((fireTime) => fireTime <= last)
    const fireTimes = rows.map(({ fire_time }) => fire_time as number)
    // No orphan: every second has its row, and each has succeeded, at the first attempt and without a recovery. A slot that was found as
    // due may run while the next one fires, which is then skipped and says so.
    expect(fireTimes).toEqual(Array.from({ length: rows.length }, (_, index) => (fireTimes[0] as number) + index * 1_000))
    const ran = rows.filter(({ state, error_code }) => state !== 'skipped' || error_code !== 'overlap')
    expect(ran.length).toBeGreaterThan(rows.length / 2)
    expect(ran.map(({ state, attempt, crash_count }) => ({ state, attempt, crash_count }))).toEqual(ran.map(() => ({ state: 'succeeded', attempt: 1, crash_count: 0 })))
    // No second run.
    expect([...starts].sort()).toEqual(ran.map(({ fire_time }) => fire_time))
    // No false "fenced".
    expect(cluster.journal.filter(({ event }) => ['execution.fenced', 'execution.recovered', 'node.lost'].includes(event ?? ''))).toEqual([])
    expect(await cluster.query('SELECT gate_owner FROM sched_tasks')).toEqual([{ gate_owner: null }])
  } finally {
    await proxy.close()
  }
}

const scenarios: Scenario[] = moments.flatMap(([name, moment]) => (['cutAfterClientBytes', 'cutBeforeForward'] as const).map((cut): Scenario => ({
  title: `P7: the connection is cut at ${name}, ${cut === 'cutBeforeForward' ? 'before the server has it' : 'done, but before the reply'}: no orphan, no false "fenced", no second run`,
  on: ['PostgreSQL'], run: (cluster) => cutAt(cluster, cut, moment),
})))

runTogether(scenarios)
