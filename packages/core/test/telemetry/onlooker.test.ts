import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Events } from '../../src/executor/events.ts'
import { observeScheduler } from '../../src/telemetry/observe-scheduler.ts'
import { valueOf } from './observed-node.ts'

function warnings(): unknown[] {
  const heard: unknown[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning: unknown) => { heard.push(warning) })
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
})
