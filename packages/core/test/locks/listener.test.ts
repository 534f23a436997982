import { expect, it } from 'vitest'
import { createLocks } from '../../src/locks/create-locks.ts'
import { manualClock } from '../manual-clock.ts'
import { scriptedServer } from './scripted-source.ts'

it('P10: a listener that throws is reported and ends nothing', async () => {
  const clock = manualClock()
  const server = scriptedServer(clock, 'session')
  const warnings: string[] = []
  const collect = (warning: Error): void => { warnings.push(warning.message) }
  process.on('warning', collect)
  const locks = createLocks({ dialect: { spiVersion: 1, name: 'scripted', locks: server.source, close: async () => {} }, clock, random: () => 0, onEvent: () => { throw new Error('mine') } })
  const lease = await locks.acquire('a', { waitMs: 0 })
  server.connections[0]?.lose()
  expect(lease.signal.aborted).toBe(true)
  expect((await locks.tryAcquire('a')).status).toBe('acquired')
  await locks.close()
  await new Promise((resolve) => { setImmediate(resolve) })
  process.off('warning', collect)
  expect(warnings).toEqual(['the onEvent listener threw at lock.session-lost: mine', 'the onEvent listener threw at lock.lost: mine'])
})
