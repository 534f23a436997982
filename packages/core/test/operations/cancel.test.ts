import { expect, test } from 'vitest'
import { virtualNodes, type VirtualNode, type VirtualNodes } from '../../src/testing/index.ts'

const scheduler = { leaseMs: 6000, heartbeatMs: 1000 } as const

/** A task that works for ten minutes unless its signal says otherwise; once a day, so that one execution is all there is. */
function nightly(options: { throws?: boolean } = {}): VirtualNodes {
  return virtualNodes(2, {
    scheduler, startAt: '2030-01-01T02:59:00Z',
    tasks: (node) => {
      node.task('nightly', { cron: '0 3 * * *', retry: { max: 3, backoffMs: 120_000 } }, ({ signal }) => {
        if (options.throws === true) throw new Error('no paper')
        return node.sleep(600_000, signal)
      })
    },
  })
}

async function begun(cluster: VirtualNodes): Promise<{ runner: VirtualNode; other: VirtualNode; executionId: string }> {
  await cluster.start()
  await cluster.advance(65_000)
  const [run] = cluster.runs()
  const runner = cluster.nodes.find(({ name }) => name === run?.node)
  const other = cluster.nodes.find((node) => node !== runner)
  if (run === undefined || runner === undefined || other === undefined) throw new Error('nothing runs')
  return { runner, other, executionId: run.executionId }
}

test('P6: an execution that runs on one instance is cancelled from another within a heartbeat', async () => {
  const cluster = nightly()
  const { runner, other, executionId } = await begun(cluster)
  expect(await cluster.clock.until(other.scheduler.cancel(executionId))).toBe('requested')
  await cluster.advance(scheduler.heartbeatMs + 100)
  expect(cluster.ledger()).toMatchObject([{ executionId, state: 'failed', errorCode: 'SCHED_TASK_CANCELLED', attempt: 1 }])
  expect(runner.events('execution.failed')).toMatchObject([{ executionId, error: { code: 'SCHED_TASK_CANCELLED' } }])
  expect(await cluster.clock.until(other.scheduler.cancel(executionId))).toBe('ended')
  await cluster.advance(600_000)
  expect(cluster.runs()).toHaveLength(1)
  await cluster.stop()
})

test('P6: an execution that waits for its retry is cancelled at once, on whatever instance, and runs no more', async () => {
  const cluster = nightly({ throws: true })
  const { other, executionId } = await begun(cluster)
  expect(cluster.ledger()).toMatchObject([{ executionId, state: 'retry' }])
  expect(await cluster.clock.until(other.scheduler.cancel(executionId))).toBe('cancelled')
  expect(cluster.ledger()).toMatchObject([{ executionId, state: 'failed', errorCode: 'SCHED_TASK_CANCELLED', attempt: 1 }])
  await cluster.advance(600_000)
  expect(cluster.runs()).toHaveLength(1)
  await cluster.stop()
})

test('P6: a cancellation is not lost when the instance dies before it obeys', async () => {
  const cluster = nightly()
  const { runner, other, executionId } = await begun(cluster)
  expect(await cluster.clock.until(other.scheduler.cancel(executionId))).toBe('requested')
  runner.kill()
  await cluster.advance(600_000)
  expect(cluster.runs()).toHaveLength(1)
  expect(cluster.ledger()).toMatchObject([{ executionId, state: 'failed', errorCode: 'SCHED_TASK_CANCELLED', crashCount: 1 }])
  expect(other.events('execution.recovered')).toMatchObject([{ executionId, state: 'failed' }])
  await cluster.stop()
})

test('P6: an attempt that throws after it was cancelled, and before it was told, is not retried', async () => {
  const cluster: VirtualNodes = virtualNodes(2, {
    scheduler, startAt: '2030-01-01T02:59:00Z',
    tasks: (node) => {
      node.task('nightly', { cron: '0 3 * * *', retry: { max: 3, backoffMs: 1000 } }, async ({ executionId }) => {
        expect(await cluster.nodes.find((other) => other !== node)?.scheduler.cancel(executionId)).toBe('requested')
        throw new Error('no paper')
      })
    },
  })
  const { runner, executionId } = await begun(cluster)
  await cluster.advance(60_000)
  expect(cluster.ledger()).toMatchObject([{ executionId, state: 'failed', errorCode: 'SCHED_TASK_CANCELLED', errorText: 'no paper', attempt: 1 }])
  expect(cluster.runs()).toHaveLength(1)
  expect(runner.events('execution.retry')).toEqual([])
  expect(runner.events('execution.failed')).toMatchObject([{ executionId, error: { code: 'SCHED_TASK_CANCELLED', cause: { message: 'no paper' } } }])
  await cluster.stop()
})
