import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Events } from '../../src/executor/events.ts'
import { onlooker } from '../../src/telemetry/onlooker.ts'
import { observeScheduler } from '../../src/telemetry/observe-scheduler.ts'
import { valueOf } from './observed-node.ts'

/** Process warnings, and beside them the options they came with. */
function warnings(options: unknown[] = []): unknown[] {
  const heard: unknown[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning: unknown, given?: unknown) => { heard.push(warning); options.push(given) })
  onTestFinished(() => { spy.mockRestore() })
  return heard
}

describe('an onlooker', () => {
  it('P10: errors that only metrics hear are still process warnings; a listener of one\'s own takes them over', async () => {
    const heard = warnings()
    const events = new Events()
    const registry = new Registry()
    observeScheduler({ on: (name, listener) => events.on(name, listener) }, { registry })
    const error = new Error('nobody knows')
    events.emit('error', { error, where: 'a test' })
    expect(heard).toEqual([error])
    expect(await valueOf(registry, 'scheduler_errors_total', { code: 'other' })).toBe(1)
    const off = events.on('error', () => {})
    events.emit('error', { error, where: 'a test' })
    expect(heard).toEqual([error])
    expect(await valueOf(registry, 'scheduler_errors_total', { code: 'other' })).toBe(2)
    off()
    events.emit('error', { error, where: 'a test' })
    expect(heard).toEqual([error, error])
  })

  it('P11: a warning that nobody hears is a process warning with its code and the way out; a listener of one\'s own takes it over', () => {
    const options: unknown[] = []
    const heard = warnings(options)
    const events = new Events()
    const finding = { level: 'warn', code: 'SCHED_UNSAFE_LIMIT', message: 'the pool is small.', remedy: 'Make it larger.' } as const
    events.on('warning', onlooker(() => {}))
    events.emit('warning', { finding })
    expect(heard).toEqual(['the pool is small. Make it larger.'])
    expect(options).toEqual([{ type: 'SchedWarning', code: 'SCHED_UNSAFE_LIMIT' }])
    const off = events.on('warning', () => {})
    events.emit('warning', { finding })
    expect(heard).toHaveLength(1)
    off()
    events.emit('warning', { finding })
    expect(heard).toHaveLength(2)
  })
})
