import { describe, expect, it } from 'vitest'
import { SchedError, isSchedError } from '../../src/errors.ts'
import { Workers, type FullPolicy } from '../../src/executor/workers.ts'

const never = new AbortController().signal

function workers(full: FullPolicy, maxQueued = 1): { workers: Workers; aborts: SchedError[] } {
  const aborts: SchedError[] = []
  return { aborts, workers: new Workers({ concurrency: 1, maxQueued, full, onAbort: (error) => { aborts.push(error) } }) }
}

async function outcome(waiting: Promise<() => void>): Promise<'granted' | 'busy' | 'waiting'> {
  return Promise.race([
    waiting.then(() => 'granted' as const, (error: unknown) => { if (isSchedError(error, 'SCHED_WORKERS_BUSY')) return 'busy' as const; throw error }),
    new Promise<'waiting'>((resolve) => { setImmediate(() => resolve('waiting')) }),
  ])
}

describe('local workers', () => {
  it('caller-runs lets everybody wait, higher priority first, then first come', async () => {
    const { workers: pool } = workers('caller-runs', 0)
    const free = await pool.acquire(0, never)
    const order: string[] = []
    const waiting = [['low', 0], ['high', 5], ['low again', 0]].map(async ([name, priority]) => {
      const release = await pool.acquire(priority as number, never)
      order.push(name as string)
      release()
    })
    expect(pool.waiting).toBe(3)
    free()
    free() // giving back twice gives nothing twice
    await Promise.all(waiting)
    expect(order).toEqual(['high', 'low', 'low again'])
    expect(pool.busy).toBe(0)
  })

  it('discard turns the newcomer away when the queue is full', async () => {
    const { workers: pool, aborts } = workers('discard')
    await pool.acquire(0, never)
    const first = pool.acquire(0, never)
    expect(await outcome(pool.acquire(0, never))).toBe('busy')
    expect(await outcome(first)).toBe('waiting')
    expect(aborts).toHaveLength(0)
  })

  it('abort does the same and reports an error', async () => {
    const { workers: pool, aborts } = workers('abort')
    await pool.acquire(0, never)
    void pool.acquire(0, never)
    expect(await outcome(pool.acquire(0, never))).toBe('busy')
    expect(aborts.map(({ code }) => code)).toEqual(['SCHED_WORKERS_BUSY'])
  })

  it('discard-oldest turns away whoever has waited longest', async () => {
    const { workers: pool } = workers('discard-oldest')
    const free = await pool.acquire(0, never)
    const oldest = outcome(pool.acquire(9, never))
    const newest = pool.acquire(0, never)
    expect(await oldest).toBe('busy')
    free()
    expect(await outcome(newest)).toBe('granted')
  })

  it('an abort ends the wait and leaves the queue', async () => {
    const { workers: pool } = workers('caller-runs')
    await pool.acquire(0, never)
    const given = new AbortController()
    const waiting = pool.acquire(0, given.signal)
    given.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(pool.waiting).toBe(0)
  })
})
