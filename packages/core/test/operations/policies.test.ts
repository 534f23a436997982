import { createScheduler, type Scheduler, type TaskOptions } from '@sched/core'
import { eventually } from '@sched-dev/databases'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
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

const longMs = 20_000

/** An instance with a short heartbeat and a lease that outlives any pause of a busy machine; stopped after the test at the latest. */
function instance(file: string, name: string, options: TaskOptions, handler: (run: { fireTime: number; signal: AbortSignal; reason: string }) => unknown, heartbeatMs = 300): Scheduler {
  const scheduler = createScheduler({ dialect: sqlite({ file }), namespace: 'policies', leaseMs: 30_000, heartbeatMs, drainMs: 100, abortGraceMs: 100, signals: false })
  scheduler.task(name, options, ({ fireTime, signal, reason }) => handler({ fireTime: fireTime.getTime(), signal, reason }))
  schedulers.push(scheduler)
  return scheduler
}

async function states(scheduler: Scheduler, task: string): Promise<Map<number, string>> {
  return new Map((await scheduler.executions({ task, limit: 1000 })).map(({ fireTime, state, errorCode }) => [fireTime, errorCode === null ? state : `${state}: ${errorCode}`]))
}

describe('overlap', { timeout: 60_000 }, () => {
  it('P2: queue-one runs the latest waiting slot next and records the others as superseded', async () => {
    const runs: { fireTime: number; from: number; to: number }[] = []
    const scheduler = instance(place(), 'slow', { everyMs: 1000, overlap: 'queue-one' }, async ({ fireTime }) => {
      const from = performance.now()
      await sleep(2400)
      runs.push({ fireTime, from, to: performance.now() })
    }, 5000) // What is later than a heartbeat is the scan's, and no queue's.
    await scheduler.start()
    await eventually(() => runs.length >= 3, longMs)
    const seen = await states(scheduler, 'slow')
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
    await eventually(() => started.length >= 3, longMs)
    // The third has started: the two before it are in the ledger by now.
    const seen = await states(one, 'long')
    expect(aborted.slice(0, 2)).toEqual(started.slice(0, 2))
    for (const fireTime of started.slice(0, 2)) expect(seen.get(fireTime)).toBe('failed: SCHED_TASK_CANCELLED')
  })

  it('refuses cancel-previous faster than two heartbeats at registration', () => {
    const scheduler = createScheduler({ url: 'sqlite:./never-opened.db', leaseMs: 30_000, heartbeatMs: 10_000 })
    expect(() => scheduler.task('hasty', { everyMs: 5000, overlap: 'cancel-previous' }, () => undefined)).toThrow(/SCHED_OPTION_INVALID.*heartbeat of 10000 ms/s)
  })
})

describe('misfire', { timeout: 90_000 }, () => {
  const hour = 3_600_000

  /** The hour that has begun, when it is too old for a claim, and the next is far. */
  async function wellWithinAnHour(): Promise<number> {
    const intoMs = Date.now() % hour
    if (intoMs < 5_000) await sleep(5_000 - intoMs)
    else if (hour - intoMs < 30_000) await sleep(hour - intoMs + 5_000)
    return Math.floor(Date.now() / hour) * hour
  }

  /**
   * A task that ran last before this many fire times, and nobody since: its instance has left, and the ledger says that it was armed so long
   * ago. Returns an instance that comes back, and the fire times.
   */
  async function afterOutage(everyMs: number, options: TaskOptions, missed: number, latest: number, handler: (run: { fireTime: number; reason: string }) => unknown): Promise<{ scheduler: Scheduler; fireTimes: number[] }> {
    const file = place()
    const before = instance(file, 'job', { everyMs, ...options }, () => undefined)
    await before.start()
    await before.stop()
    const database = new DatabaseSync(file, { timeout: 5_000 })
    database.prepare('UPDATE sched_tasks SET armed_from = ?').run(latest - missed * everyMs)
    database.prepare('DELETE FROM sched_executions').run()
    database.close()
    const scheduler = instance(file, 'job', { everyMs, ...options }, handler)
    await scheduler.start()
    return { scheduler, fireTimes: Array.from({ length: missed }, (_, index) => latest - (missed - 1 - index) * everyMs) }
  }

  it('run-all runs every missed slot, oldest first, one at a time', async () => {
    const runs: number[] = []
    let busy = 0
    let most = 0
    const { fireTimes } = await afterOutage(hour, { misfire: 'run-all' }, 5, await wellWithinAnHour(), async ({ fireTime }) => {
      most = Math.max(most, busy += 1)
      runs.push(fireTime)
      await sleep(50)
      busy -= 1
    })
    await eventually(() => runs.length >= 5, longMs)
    await sleep(500)
    expect(runs).toEqual(fireTimes)
    expect(most).toBe(1)
  })

  it('run-all is bounded: the newest run, the rest is one record', async () => {
    const runs: { fireTime: number; reason: string }[] = []
    const { scheduler, fireTimes } = await afterOutage(hour, { misfire: 'run-all', runAll: { max: 2 } }, 6, await wellWithinAnHour(), ({ fireTime, reason }) => { runs.push({ fireTime, reason }) })
    await eventually(() => runs.length >= 2, longMs)
    await sleep(500)
    expect(runs).toEqual(fireTimes.slice(-2).map((fireTime) => ({ fireTime, reason: 'catchup' })))
    const records = (await scheduler.executions({ task: 'job', state: 'missed' }))
    expect(records).toMatchObject([{ missedFrom: fireTimes[0], fireTime: fireTimes[3], missedCount: 4 }])
  })

  it('stall runs nothing until a person resumes the task, and says why', async () => {
    const runs: number[] = []
    const { scheduler } = await afterOutage(1000, { misfire: 'stall' }, 60, Math.floor(Date.now() / 1000) * 1000, ({ fireTime }) => { runs.push(fireTime) })
    const task = await eventually(async () => (await scheduler.tasks()).find(({ state }) => state !== 'active'), longMs)
    expect(task).toMatchObject({ name: 'job', state: 'stalled', reason: expect.stringMatching(/fire times were missed/) as string })
    // A slot that was young enough for a claim at the start may still be on its way.
    await sleep(1500)
    const stalledRuns = runs.length
    await sleep(1500)
    expect(runs).toHaveLength(stalledRuns)
    const { executionId } = await scheduler.trigger('job')
    const triggered = await eventually(async () => (await scheduler.executions({ task: 'job', limit: 1 })).find(({ state }) => state !== 'pending' && state !== 'running'), longMs)
    expect(triggered).toMatchObject({ executionId, state: 'succeeded', origin: 'manual' })
    expect(await scheduler.resume('job')).toBe(true)
    await eventually(() => runs.length > stalledRuns + 1, longMs)
  })
})
