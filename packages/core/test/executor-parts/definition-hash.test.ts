import { describe, expect, it, onTestFinished } from 'vitest'
import { defineTask, type TaskOptions } from '../../src/executor/task-definition.ts'
import { hashSpec, withOverride } from '../../src/executor/task-spec.ts'
import { virtualNodes } from '../../src/testing/index.ts'

const define = (options: TaskOptions): ReturnType<typeof defineTask> => defineTask('job', options, () => undefined, {})
const hashOf = (options: TaskOptions): string => define(options).hash
const override = (timeZone: string): string => JSON.stringify({ cron: '0 4 * * *', everyMs: null, timeZone, dst: { gap: 'skip', overlap: 'auto' }, startAt: null, endAt: null })

describe('the hash of a definition', () => {
  it.each([
    ['the order of keys', { retry: { max: 3, backoffMs: 1000, backoff: 'fixed' } }, { retry: { backoff: 'fixed', backoffMs: 1000, max: 3 } }],
    ['a default of retry written out', { retry: { max: 3, backoffMs: 1000 } }, { retry: { max: 3, backoffMs: 1000, backoff: 'fixed', maxBackoffMs: 3_600_000, retryable: () => true } }],
    ['other defaults written out', {}, { jitterMs: 0, timeoutMs: 3_600_000, overlap: 'skip', misfire: 'run-once', recovery: 'retry', timeZone: 'UTC', dst: { overlap: 'auto', gap: 'skip' }, retry: { max: 0, backoffMs: 0 } }],
  ] as const)('P1: does not see %s', (_, one, other) => {
    expect(hashOf({ cron: '0 3 * * *', ...other })).toBe(hashOf({ cron: '0 3 * * *', ...one }))
  })

  it('P1: sees a change of the policy', () => {
    const hashes = [undefined, { max: 3, backoffMs: 1000 }, { max: 4, backoffMs: 1000 }, { max: 3, backoffMs: 1000, backoff: 'exponential' as const }].map((retry) => hashOf({ cron: '0 3 * * *', ...(retry && { retry }) }))
    expect(new Set(hashes).size).toBe(4)
  })

  it('P1: counts the zone data with a schedule set at run time in a zone, also where the code\'s is in UTC', () => {
    const { spec } = define({ everyMs: 60_000 })
    expect(hashSpec(spec, override('Europe/Berlin'), '2026a')).not.toBe(hashSpec(spec, override('Europe/Berlin'), '2026b'))
    expect(hashSpec(spec, override('UTC'), '2026a')).toBe(hashSpec(spec, override('UTC'), '2026b'))
    expect(hashSpec(spec, null, '2026a')).toBe(hashSpec(spec, null, '2026b'))
    expect(withOverride(define({ everyMs: 60_000 }), override('Europe/Berlin')).hash).toBe(hashSpec(spec, override('Europe/Berlin'), process.versions.tz))
  })

  it('P1: with a schedule set at run time it is that of the zone data of the node that carries the task', async () => {
    const cluster = virtualNodes(1, { scheduler: { namespace: 'zones', leaseMs: 30_000, heartbeatMs: 10_000 }, tasks: (node) => { node.task('job', { everyMs: 3_600_000 }, () => undefined) } })
    onTestFinished(() => cluster.stop())
    await cluster.start()
    cluster.database.query(`UPDATE sched_nodes SET versions = ?`, [JSON.stringify({ tzdata: '1999z' })])
    await cluster.clock.until(cluster.nodes[0]!.scheduler.reschedule('job', { cron: '0 4 * * *', timeZone: 'Europe/Berlin' }))
    const [row] = cluster.database.query('SELECT spec, override_spec, definition_hash FROM sched_tasks', []) as unknown as { spec: string; override_spec: string; definition_hash: string }[]
    expect(row?.definition_hash).toBe(hashSpec(row?.spec ?? '', row?.override_spec ?? null, '1999z'))
  })
})
