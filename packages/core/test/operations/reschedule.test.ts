import { describe, expect, it, onTestFinished } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import type { ScheduleDefinition } from '../../src/schedule/schedule.ts'
import { fail, virtualNodes, type VirtualNodes } from '../../src/testing/index.ts'

async function service(options: TaskOptions, startAt = '2030-01-05T01:00:00Z'): Promise<{ cluster: VirtualNodes; reschedule: (schedule: ScheduleDefinition | null) => Promise<void> }> {
  const cluster = virtualNodes(1, { startAt, scheduler: { leaseMs: 900_000, heartbeatMs: 300_000, timeZone: 'Europe/Berlin', dst: { gap: 'run-after' } }, tasks: (node) => { node.task('job', options, () => undefined) } })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  return { cluster, reschedule: (schedule) => cluster.clock.until(cluster.nodes[0]!.scheduler.reschedule('job', schedule)) }
}

const fired = (cluster: VirtualNodes): string[] => cluster.runs('job').map(({ fireTime }) => fireTime.toISOString().slice(0, 16))

describe('another schedule at run time', () => {
  it('P1: keeps the zone that the code has, its own or the scheduler\'s, unless another is given', async () => {
    const { cluster, reschedule } = await service({ cron: '0 12 * * *' })
    await reschedule({ cron: '0 4 * * *' })
    await cluster.advanceTo('2030-01-05T08:00:00Z')
    expect(fired(cluster)).toEqual(['2030-01-05T03:00'])
    await reschedule({ cron: '0 4 * * *', timeZone: 'America/New_York' })
    await cluster.advanceTo('2030-01-05T10:00:00Z')
    expect(fired(cluster)).toEqual(['2030-01-05T03:00', '2030-01-05T09:00'])
    // What is not given is the code's, not the last one set by hand.
    await reschedule({ cron: '30 12 * * *' })
    await cluster.advanceTo('2030-01-05T18:00:00Z')
    expect(fired(cluster).at(-1)).toBe('2030-01-05T11:30')
  })

  it('P1: keeps the daylight saving rule, the beginning and the end of the code unless others are given', async () => {
    const { cluster, reschedule } = await service({ everyMs: 3_600_000, startAt: new Date('2030-03-30T00:00:00Z'), endAt: new Date('2030-03-31T12:00:00Z') }, '2030-03-29T00:30:00Z')
    await reschedule({ cron: '30 2 * * *' })
    await cluster.advanceTo('2030-04-01T03:00:00Z')
    // In the night of the gap after it, as the scheduler's `dst` says; neither before the beginning nor after the end.
    expect(fired(cluster)).toEqual(['2030-03-30T01:30', '2030-03-31T01:00'])
    await reschedule({ cron: '30 2 * * *', startAt: 0, endAt: new Date('2030-04-02T12:00:00Z') })
    await cluster.advanceTo('2030-04-03T03:00:00Z')
    expect(fired(cluster).slice(2)).toEqual(['2030-04-02T00:30'])
  })

  it('P6: loses no fire time when the instances cannot read it at once', async () => {
    const cluster = virtualNodes(2, {
      startAt: '2030-01-05T03:00:00Z', scheduler: { leaseMs: 60_000, heartbeatMs: 10_000 },
      tasks: (node) => { if (node.index === 0) node.task('job', { cron: '0 9 * * *' }, () => undefined) },
    })
    onTestFinished(() => cluster.stop())
    await cluster.start()
    await cluster.advance(55_000)
    await cluster.clock.until(cluster.nodes[1]!.scheduler.reschedule('job', { cron: '1 3 * * *' }))
    const failed = cluster.faults.before(({ text }) => text.startsWith('SELECT task_name, definition_hash'), fail('unknown'), { node: 'node-0' })
    await cluster.advance(60_000)
    expect(failed.hits).toBe(1)
    expect(cluster.ledger('job')).toMatchObject([{ state: 'succeeded', fireTime: new Date('2030-01-05T03:01:00Z') }])
  })

  it.each([
    ['an object that is none', undefined as unknown as null, /SCHED_OPTION_INVALID.*undefined.*null to follow the code/],
    ['no schedule at all', {}, /SCHED_OPTION_INVALID.*cron or everyMs/],
    ['a year in the past', { cron: '0 0 0 1 1 * 2020' }, /SCHED_CRON_NEVER/],
    ['a period that cancel-previous never ends', { everyMs: 60_000 }, /SCHED_OPTION_INVALID.*cancel-previous.*heartbeat of 300000 ms/],
    ['a zone that there is not', { cron: '0 4 * * *', timeZone: 'Europe/Berlim' }, /SCHED_TIME_ZONE_UNKNOWN/],
  ] as const)('P10: refuses %s as registration does', async (_, schedule, message) => {
    const { cluster, reschedule } = await service({ everyMs: 3_600_000, overlap: 'cancel-previous' })
    await expect(reschedule(schedule)).rejects.toThrow(message)
    expect(await cluster.clock.until(cluster.nodes[0]!.scheduler.tasks())).toMatchObject([{ overridden: false }])
  })
})
