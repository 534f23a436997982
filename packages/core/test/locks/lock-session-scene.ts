import type { LockCapabilities } from '../../src/spi/capabilities.ts'
import { lockName, type LockName } from '../../src/spi/lock-name.ts'
import type { Holding } from '../../src/locks/holding.ts'
import type { LockEvent } from '../../src/locks/lock-events.ts'
import { LockSession } from '../../src/locks/lock-session.ts'
import type { LockSessionOptions } from '../../src/locks/lock-session-options.ts'
import { manualClock, type ManualClock } from '../manual-clock.ts'
import { guarded, scriptedServer, type ScriptedServer } from './scripted-source.ts'

export interface Scene {
  readonly clock: ManualClock
  readonly server: ScriptedServer
  readonly session: LockSession
  readonly events: LockEvent[]
  readonly hold: (name: string) => Promise<Holding>
}

/** Lease 10 s, heartbeat 2 s: margin 1 s, good for 9 s. */
export const leaseMs = 10_000
export const heartbeatMs = 2_000

export const name = (text: string): LockName => lockName('test', 'user', text)

export function scene(kind: LockCapabilities['kind'], overrides: Partial<LockSessionOptions> = {}): Scene {
  const clock = manualClock()
  const server = scriptedServer(clock, kind)
  const events: LockEvent[] = []
  const session = new LockSession({
    source: server.source, capabilities: server.source.capabilities, session: guarded(server, clock), reopen: async () => guarded(server, clock),
    heartbeat: 'own', leaseMs, heartbeatMs, ownerLabel: 'test:1', clock, random: () => 0.5, onEvent: (event) => events.push(event), ...overrides,
  })
  return {
    clock, server, session, events,
    async hold(text) {
      const outcome = await session.tryLock(name(text))
      if (outcome.status !== 'acquired') throw new Error(`${text} was refused by the ${outcome.by}`)
      return outcome.holding
    },
  }
}

/** What a promise came to, in a word. */
export function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then((value) => typeof value === 'object' && value !== null && 'status' in value ? String(value.status) : String(value), (error: unknown) => (error as { code?: string }).code ?? String(error))
}
