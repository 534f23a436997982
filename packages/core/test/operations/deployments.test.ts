import { createScheduler, type Scheduler } from '@sched/core'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sched-deployments-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'sched.db')
}

/**
 * One build of the service: which tasks it has, and how often it saw each run. The lease outlives any pause of a busy machine: with its lease a
 * higher revision loses its say, and an older one rightly takes its tasks up again.
 */
async function build(file: string, revision: number, tasks: Record<string, string>): Promise<{ scheduler: Scheduler; runs: Record<string, number> }> {
  const runs: Record<string, number> = {}
  const scheduler = createScheduler({ dialect: sqlite({ file }), namespace: 'deploy', revision, leaseMs: 30_000, heartbeatMs: 300, signals: false })
  for (const [name, cron] of Object.entries(tasks)) scheduler.task(name, { cron }, ({ task }) => { runs[task] = (runs[task] ?? 0) + 1 })
  await scheduler.start()
  onTestFinished(() => scheduler.stop())
  return { scheduler, runs }
}

/** The old instances have had several heartbeats to hear of it, on a busy machine too. */
const heard = (): Promise<void> => sleep(2000)

/** Waits until a task has run; fails after twenty seconds. */
async function untilRun(runs: Record<string, number>, task: string, times = 1): Promise<void> {
  for (let waitedMs = 0; (runs[task] ?? 0) < times && waitedMs < 20_000; waitedMs += 50) await sleep(50)
  expect(runs[task] ?? 0).toBeGreaterThanOrEqual(times)
}

const eachSecond = '* * * * * *'
const everySecondSecond = '*/2 * * * * *'

describe('rolling deployments', { timeout: 90_000 }, () => {
  it('the higher revision rules: old instances stop claiming within a heartbeat', async () => {
    const file = place()
    const old = await build(file, 1, { job: eachSecond })
    await untilRun(old.runs, 'job')
    const fresh = await build(file, 2, { job: everySecondSecond })
    await heard()
    const before = old.runs['job'] ?? 0
    await sleep(4000)
    expect(old.runs['job'] ?? 0).toBe(before)
    await untilRun(fresh.runs, 'job')
  })

  it('a task that the higher revision no longer has leaves a tombstone, and no ghost fires on old instances', async () => {
    const file = place()
    const old = await build(file, 1, { kept: eachSecond, removed: eachSecond })
    await untilRun(old.runs, 'removed')
    const fresh = await build(file, 2, { kept: eachSecond })
    await heard()
    const before = old.runs['removed'] ?? 0
    await sleep(2500)
    expect(old.runs['removed'] ?? 0).toBe(before)
    expect((await fresh.scheduler.tasks()).find(({ name }) => name === 'removed')).toMatchObject({ state: 'retired', reason: 'revision 2 no longer has it' })
    // Another schedule than revision 1's: with the same definition, an instance of revision 1 would rightly compete for it again.
    const next = await build(file, 3, { kept: eachSecond, removed: everySecondSecond })
    await untilRun(next.runs, 'removed')
  })

  it('without revisions nothing is retired: another service may share the namespace', async () => {
    const file = place()
    await build(file, 0, { one: eachSecond })
    const other = await build(file, 0, { two: eachSecond })
    expect((await other.scheduler.tasks()).map(({ state }) => state)).toEqual(['active', 'active'])
  })

  it('a definition that no live instance carries gives way: a canary that registered and died silences nobody', async () => {
    const file = place()
    const steady = await build(file, 0, { job: eachSecond })
    const canary = await build(file, 0, { job: everySecondSecond })
    await canary.scheduler.stop()
    await sleep(400)
    const before = steady.runs['job'] ?? 0
    await untilRun(steady.runs, 'job', before + 2)
  })

  it('a schedule set at run time survives a deployment until it is cleared', async () => {
    const file = place()
    const old = await build(file, 1, { job: '0 0 1 1 *' })
    await old.scheduler.reschedule('job', { cron: eachSecond })
    await untilRun(old.runs, 'job')
    const fresh = await build(file, 2, { job: '0 0 2 1 *' })
    await untilRun(fresh.runs, 'job')
    await fresh.scheduler.reschedule('job', null)
    await heard()
    const before = { ...fresh.runs }
    await sleep(2500)
    expect(fresh.runs).toEqual(before)
  })
})
