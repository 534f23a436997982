import { describe, expect, it } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { Events, type AttemptRef, type HeartbeatFacts } from '../../src/executor/events.ts'
import { watchHealth, type HealthReport } from '../../src/telemetry/health.ts'
import { manualClock } from '../manual-clock.ts'
import { ObservedNode, behindItsBack } from './observed-node.ts'

const beat: HeartbeatFacts = {
  nodeId: 'n', dbNow: 0, leaseMs: 3_000, heartbeatMs: 1_000, clockOffsetMs: 0, uncertaintyMs: 0, overdueMs: 0, otherZoneData: 0, workers: { busy: 0, waiting: 0, limit: 1 }, loopLag: { meanMs: 0, p99Ms: 0, maxMs: 0 },
}
const attempt: AttemptRef = { task: 'deaf', executionId: 'e', fireTime: 0, attempt: 1, owner: 'o', fencingToken: 1 }

function watched() {
  const events = new Events()
  const clock = manualClock()
  const health = watchHealth({ on: (name, listener) => events.on(name, listener) }, { clock })
  return { events, clock, health }
}

const kinds = ({ problems }: HealthReport): string[] => problems.map(({ kind }) => kind)

describe('the health of an instance', { timeout: 90_000 }, () => {
  it('is red before the registration, green while it beats, red after the stop', () => {
    const { events, health } = watched()
    expect(health.report()).toMatchObject({ healthy: false, nodeId: undefined, heartbeatAgeMs: undefined })
    expect(kinds(health.report())).toEqual(['not-started'])
    events.emit('node.registered', { nodeId: 'n' })
    expect(health.report()).toMatchObject({ healthy: true, nodeId: 'n', heartbeatAgeMs: 0 })
    events.emit('heartbeat', beat)
    expect(health.report()).toMatchObject({ healthy: true, leaseMs: 3_000 })
    events.emit('stopped', { unsettled: 0 })
    events.emit('node.lost', { nodeId: 'n', reason: new SchedError('SCHED_STOPPED', 'the scheduler has stopped.') })
    expect(kinds(health.report())).toEqual(['stopped'])
  })

  it('P5: after a freeze it is red at the first look, before any timer or event has told of it', () => {
    const { events, clock, health } = watched()
    events.emit('node.registered', { nodeId: 'n' })
    events.emit('heartbeat', beat)
    clock.freeze(2_999)
    expect(health.report()).toMatchObject({ healthy: true, heartbeatAgeMs: 2_999 })
    clock.freeze(1)
    expect(kinds(health.report())).toEqual(['heartbeat-late'])
    events.emit('heartbeat', beat)
    expect(health.report().healthy).toBe(true)
    // A suspended host: the monotonic clock stood still.
    clock.shiftWall(60_000)
    expect(kinds(health.report())).toEqual(['heartbeat-late'])
  })

  it('is red from a lost lease to the next registration', () => {
    const { events, health } = watched()
    events.emit('node.registered', { nodeId: 'n' })
    events.emit('node.lost', { nodeId: 'n', reason: new SchedError('SCHED_LEASE_LOST', 'not renewed.') })
    expect(health.report().problems).toMatchObject([{ kind: 'lease-lost', restartHelps: false, text: expect.stringContaining('not renewed') as string }])
    events.emit('node.registered', { nodeId: 'm' })
    expect(health.report()).toMatchObject({ healthy: true, nodeId: 'm' })
  })

  it('P6: names stuck handlers until they settle, and only there says that a restart helps', () => {
    const { events, health } = watched()
    events.emit('node.registered', { nodeId: 'n' })
    events.emit('task.stuck', attempt)
    expect(health.report()).toMatchObject({ healthy: false, stuck: [attempt], problems: [{ kind: 'task-stuck', restartHelps: true }] })
    events.emit('task.unstuck', attempt)
    expect(health.report()).toMatchObject({ healthy: true, stuck: [] })
  })

  it('P6: names blocked recoveries while sweeps go on reporting them', () => {
    const { events, health } = watched()
    events.emit('node.registered', { nodeId: 'n' })
    events.emit('recovery.blocked', { what: ['gate of settle'] })
    for (let count = 0; count < 3; count += 1) events.emit('heartbeat', beat)
    expect(health.report()).toMatchObject({ healthy: false, blockedRecovery: ['gate of settle'] })
    events.emit('recovery.blocked', { what: ['gate of settle'] })
    for (let count = 0; count < 3; count += 1) events.emit('heartbeat', beat)
    expect(kinds(health.report())).toEqual(['recovery-blocked'])
    events.emit('heartbeat', beat)
    expect(health.report().healthy).toBe(true)
  })

  it('P10: of a real instance: red while the database does not answer, green again by itself', async () => {
    const node = new ObservedNode({ leaseMs: 1_500, heartbeatMs: 200 })
    const health = watchHealth(node.scheduler)
    node.scheduler.task('tick', { cron: '@yearly' }, () => {})
    await node.scheduler.start()
    expect(health.report()).toMatchObject({ healthy: true })
    const writer = behindItsBack(node.file)
    writer.exec('BEGIN IMMEDIATE')
    await expect.poll(() => kinds(health.report()), { timeout: 10_000 }).toContain('lease-lost')
    const { nodeId } = health.report()
    writer.exec('ROLLBACK')
    await expect.poll(() => health.report(), { timeout: 10_000 }).toMatchObject({ healthy: true })
    expect(health.report().nodeId).not.toBe(nodeId)
    await node.scheduler.stop()
    expect(kinds(health.report())).toEqual(['stopped'])
  })
})
