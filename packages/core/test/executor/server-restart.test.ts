import { setTimeout as sleep } from 'node:timers/promises'
import { describePrivatePostgres } from '@sched-dev/databases'
import { expect, it } from 'vitest'
import { postgres } from '@sched/dialect-postgres'
import type { EmptyStore } from '../ledger/store-ground.ts'
import { Cluster } from './cluster.ts'

describePrivatePostgres('newest', (start) => {
  it('P6: a restart of the server within the lease costs no run, and a crash that outlasts the lease is recovered from', async () => {
    const server = await start()
    const store: EmptyStore = { product: 'PostgreSQL', address: server.url, connect: () => postgres({ url: server.url }), end: () => server.dispose() }
    const cluster = new Cluster(store)
    try {
      const long = { leaseMs: 20_000, heartbeatMs: 500 }
      const tasks = [{ name: 'long', options: { everyMs: 1_000 }, handler: { do: 'watch', ms: 6_000 } as const }]
      const instances = [1, 2].map(() => cluster.instance({ options: long, tasks }))
      await Promise.all(instances.map((instance) => instance.started()))
      const first = await Promise.race(instances.map((instance) => instance.line(({ kind, task }) => kind === 'start' && task === 'long')))
      await server.stop('fast')
      await server.start()
      const rows = await cluster.until('the run that was under way succeeds', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 40_000, 'long')
      expect(rows.find(({ fire_time, task_name }) => fire_time === first.fireTime && task_name === 'long')).toMatchObject({ attempt: 1, crash_count: 0, owner: first.owner })
      expect(cluster.journal.filter(({ event }) => event === 'node.lost')).toEqual([])

      const second = await Promise.race(instances.map((instance) => instance.line((line) => line.kind === 'start' && line.task === 'long' && line.fireTime !== first.fireTime)))
      await server.stop('kill')
      await sleep(long.leaseMs + 500)
      await server.start()
      const after = await cluster.until('the run that was under way is recovered', (found) => found.some(({ fire_time, state, task_name }) => task_name === 'long' && fire_time === second.fireTime && state === 'succeeded'), 60_000)
      expect(after.find(({ fire_time, task_name }) => fire_time === second.fireTime && task_name === 'long')).toMatchObject({ attempt: 2, crash_count: 1 })
      // Its handler had come to an end meanwhile; what it had to say came too late.
      expect(cluster.journal.filter((line) => line.event === 'execution.fenced' && line.task === 'long' && line.fireTime === second.fireTime)).toMatchObject([{ attempt: 1 }])
    } finally {
      await cluster.end()
    }
  }, 240_000)
})
