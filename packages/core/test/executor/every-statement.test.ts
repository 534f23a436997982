import { expect, it } from 'vitest'
import { kill, lose, silence, virtualNodes, type FaultAction, type Step, type VirtualNode, type VirtualNodes } from '../../src/testing/index.ts'

const scheduler = { leaseMs: 6_000, heartbeatMs: 1_000, abortGraceMs: 500 } as const
const target = 'node-0'
// Two seconds before the only fire time.
const startAt = '2030-01-01T00:59:58Z'

/** What a run may be made of; each path has statements of its own. */
const paths: Readonly<Record<string, (node: VirtualNode) => void>> = {
  'a run': (node) => { node.task('job', { cron: '0 * * * *' }, () => node.sleep(200)) },
  'a retry': (node) => {
    node.task('job', { cron: '0 * * * *', retry: { max: 2, backoffMs: 300 } }, async ({ attempt }) => {
      await node.sleep(100)
      if (attempt === 1) throw new Error('told to fail')
    })
  },
  'ctx.transaction': (node) => {
    node.task('job', { cron: '0 * * * *', retry: { max: 2, backoffMs: 300 } }, (context) => context.transaction((client) => { client.prepare('INSERT INTO effects VALUES (?)').run(context.executionId) }))
  },
  'ctx.guarded': (node) => {
    node.task('job', { cron: '0 * * * *', retry: { max: 2, backoffMs: 300 } }, async (context) => {
      await context.guarded(() => {})
      await node.sleep(50)
    })
  },
}

const faults: Readonly<Record<string, FaultAction>> = {
  'the process is killed before the statement is sent': kill('before-send'), 'the process is killed before the reply': kill('before-reply'),
  'the connection is cut before the statement is sent': lose('before-send'), 'the connection is cut before the reply': lose('before-reply'),
  'the network swallows the statement': silence('before-send'), 'the network swallows the reply': silence('before-reply'),
}

interface Played { readonly cluster: VirtualNodes; readonly calls: number; readonly hit: string | undefined }

/** One fire time on two instances, of which the first is there earlier; its call number `at` of the run path meets the fault. */
async function play(path: string, at: number, action: FaultAction): Promise<Played> {
  const cluster = virtualNodes(2, { startAt, scheduler, tasks: paths[path] as (node: VirtualNode) => void })
  cluster.database.query('CREATE TABLE effects (execution_id TEXT)')
  await cluster.start()
  await cluster.advance(1_000)
  for (const node of cluster.nodes.slice(1)) node.freeze(2_500)
  let calls = 0
  let hit: string | undefined
  cluster.faults.before(({ node, purpose, name }: Step) => {
    if (node !== target || purpose === 'pulse') return false
    calls += 1
    if (calls - 1 !== at) return false
    hit = `${purpose} ${name}`
    return true
  }, action)
  await cluster.advance(24_000)
  return { cluster, calls, hit }
}

it.each(Object.keys(paths))('P1, P2, P6, P7, P8: %s, whatever befalls any one of its statements, ends once, free of its gate and never falsely fenced', async (path) => {
  const { calls } = await play(path, -1, lose('before-send'))
  expect(calls).toBeGreaterThan(8)
  for (let at = 0; at < calls; at += 1) {
    for (const [fault, action] of Object.entries(faults)) {
      const { cluster, hit } = await play(path, at, action)
      // What comes only later in a quiet second may not come before the end of this one.
      if (hit === undefined) continue
      const what = `${fault}: ${hit} (call ${at})`
      expect(cluster.ledger('job').map(({ state }) => state), what).toEqual(['succeeded'])
      expect(cluster.database.query('SELECT gate_owner FROM sched_tasks'), what).toEqual([{ gate_owner: null }])
      const effects = cluster.database.query('SELECT execution_id FROM effects')
      expect(effects.length, what).toBe(path === 'ctx.transaction' ? 1 : 0)
      const killed = fault.includes('killed')
      expect(cluster.nodes.filter(({ alive }) => !alive).length, what).toBe(killed ? 1 : 0)
      if (!killed) expect(cluster.nodes.flatMap((node) => node.events('execution.fenced')), what).toEqual([])
      const spans = cluster.runs('job').map(({ startedAt, endedAt, node }) => ({ from: startedAt, to: endedAt ?? (cluster.nodes.find(({ name }) => name === node)?.alive === true ? Infinity : startedAt) })).sort((a, b) => a.from - b.from)
      for (const [index, span] of spans.entries()) if (index > 0) expect(span.from, what).toBeGreaterThanOrEqual(spans[index - 1]?.to as number)
      await cluster.stop()
    }
  }
}, 300_000)
