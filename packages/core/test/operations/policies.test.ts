import { createScheduler, type Scheduler, type TaskOptions } from '@sched/core'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'

const schedulers: Scheduler[] = []
afterEach(async () => { await Promise.all(schedulers.splice(0).map((scheduler) => scheduler.stop())) })

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sched-policies-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'sched.db')
}

/** An instance with a short lease; stopped after the test at the latest. */
function instance(file: string, name: string, options: TaskOptions, handler: (run: { fireTime: number; signal: AbortSignal; reason: string }) => unknown): Scheduler {
  const scheduler = createScheduler({ dialect: sqlite({ file }), namespace: 'policies', leaseMs: 1500, heartbeatMs: 300, drainMs: 100, abortGraceMs: 100, signals: false })
  scheduler.task(name, options, ({ fireTime, signal, reason }) => handler({ fireTime: fireTime.getTime(), signal, reason }))
  schedulers.push(scheduler)
  return scheduler
}

async function states(scheduler: Scheduler, task: string): Promise<Map<number, string>> {
  return new Map((await scheduler.executions({ task, limit: 1000 })).map(({ fireTime, state, errorCode }) => [fireTime, errorCode === null ? state : `${state}: ${errorCode}`]))
}

describe('overlap', { timeout: 40_000 }, () => {
  it('P2: queue-one runs the latest waiting slot next and records the others as superseded', async () => {
    const runs: { fireTime: number; from: number; to: number }[] = []
    const scheduler = instance(place(), 'slow', { everyMs: 1000, overlap: 'queue-one' }, async ({ fireTime }) => {
      const from = performance.now()
      await sleep(2400)
      runs.push({ fireTime, from, to: performance.now() })
    })
    await scheduler.start()
    await sleep(8500)
    const seen = await states(scheduler, 'slow')
    expect(runs.length).toBeGreaterThanOrEqual(3)
    for (const [index, run] of runs.entries()) {
      const before = runs[index - 1]
      if (before === undefined) continue
      expect(run.from).toBeGreaterThanOrEqual(before.to)
      // What fired while the one before ran, but for the last, gave way to it.
      for (let fireTime = before.fireTime + 1000; fireTime < run.fireTime; fireTime += 1000) expect(seen.get(fireTime)).toBe('skipped: superseded')
    }
  })

  it('P2: cancel-previous ends the run that is on, wherever it runs, then starts', async () => {
    const file = place()
    const aborted: number[] = []
    const started: number[] = []
    const handler = async ({ fireTime, signal }: { fireTime: number; signal: AbortSignal }): Promise<void> => {
      started.push(fireTime)
      await sleep(20_000, undefined, { signal }).catch((error: unknown) => { aborted.push(fireTime); throw error })
    }
    const [one, two] = [0, 1].map(() => instance(file, 'long', { everyMs: 2000, overlap: 'cancel-previous' }, handler)) as [Scheduler, Scheduler]
    await Promise.all([one.start(), two.start()])
    await sleep(7000)
    const seen = await states(one, 'long')
    expect(started.length).toBeGreaterThanOrEqual(3)
    for (const fireTime of aborted.slice(0, -1)) expect(seen.get(fireTime)).toBe('failed: SCHED_TASK_CANCELLED')
    expect(aborted.length).toBeGreaterThanOrEqual(started.length - 1)
  })

  it('refuses cancel-previous faster than two heartbeats at registration', () => {
    const scheduler = createScheduler({ url: 'sqlite:./never-opened.db', leaseMs: 30_000, heartbeatMs: 10_000 })
    expect(() => scheduler.task('hasty', { everyMs: 5000, overlap: 'cancel-previous' }, () => undefined)).toThrow(/SCHED_OPTION_INVALID.*heartbeat of 10000 ms/s)
  })
})

describe('misfire', { timeout: 40_000 }, () => {
  /** An instance that ran for a while, then nobody for `outageMs`. */
  async function afterOutage(options: TaskOptions, outageMs: number, handler: (run: { fireTime: number; reason: string }) => unknown): Promise<{ scheduler: Scheduler; from: number; to: number }> {
    const file = place()
    const before = instance(file, 'job', options, () => undefined)
    await before.start()
    await sleep(2100)
    await before.stop()
    const from = Date.now()
    await sleep(outageMs)
    const scheduler = instance(file, 'job', options, handler)
    const to = Date.now()
    await scheduler.start()
    return { scheduler, from, to }
  }

  it('run-all runs every missed slot, oldest first, one at a time', async () => {
    const runs: number[] = []
    let busy = 0
    const { from, to } = await afterOutage({ everyMs: 1000, misfire: 'run-all' }, 5000, async ({ fireTime }) => {
      expect(busy += 1).toBe(1)
      runs.push(fireTime)
      await sleep(50)
      busy -= 1
    })
    await sleep(4000)
    const missed = Array.from({ length: 5 }, (_, index) => (Math.floor(from / 1000) + 1 + index) * 1000).filter((fireTime) => fireTime < to - 1500)
    expect(missed.length).toBeGreaterThanOrEqual(3)
    expect(runs).toEqual(runs.toSorted((a, b) => a - b))
    expect(runs).toEqual(expect.arrayContaining(missed))
  })

  it('run-all is bounded: the newest run, the rest is one record', async () => {
    const runs: { fireTime: number; reason: string }[] = []
    const { scheduler } = await afterOutage({ everyMs: 1000, misfire: 'run-all', runAll: { max: 2 } }, 6500, (run) => { runs.push(run) })
    await sleep(2500)
    expect(runs.filter(({ reason }) => reason === 'catchup')).toHaveLength(2)
    const records = (await scheduler.executions({ task: 'job', state: 'missed' }))
    expect(records).toHaveLength(1)
    expect(records[0]?.missedCount).toBeGreaterThanOrEqual(2)
  })

  it('stall runs nothing until a person resumes the task, and says why', async () => {
    const runs: number[] = []
    const { scheduler } = await afterOutage({ everyMs: 1000, misfire: 'stall' }, 4500, ({ fireTime }) => { runs.push(fireTime) })
    await sleep(2500)
    const [task] = await scheduler.tasks()
    expect(task).toMatchObject({ name: 'job', state: 'stalled', reason: expect.stringMatching(/fire times were missed/) as string })
    const stalledRuns = runs.length
    await sleep(1500)
    expect(runs).toHaveLength(stalledRuns)
    const { executionId } = await scheduler.trigger('job')
    await sleep(800)
    expect((await scheduler.executions({ task: 'job', limit: 1 }))[0]).toMatchObject({ executionId, state: 'succeeded', origin: 'manual' })
    expect(await scheduler.resume('job')).toBe(true)
    await sleep(2200)
    expect(runs.length).toBeGreaterThan(stalledRuns + 1)
  })
})
