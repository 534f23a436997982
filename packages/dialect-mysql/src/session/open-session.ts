import { orAborted } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { PhysicalSession } from './physical-session.ts'
import { identify, type ServerIdentity } from './server-identity.ts'
import { readCommitted, settingsStatement, unicode } from './session-settings.ts'
import type { Setting } from './session-limits.ts'

export interface OpenSession { readonly session: PhysicalSession; readonly server: ServerIdentity }

/** A session with its settings on it. `ours`: nobody else's statements will run there. Whatever fails or is aborted on the way leaves no session behind. */
export async function openSession(connector: Connector, signal: AbortSignal, ours: boolean, settingsFor: (server: ServerIdentity) => readonly Setting[]): Promise<OpenSession> {
  const session = await connector.connect(signal)
  try {
    return await orAborted(signal, setUp(session, ours, settingsFor), () => { session.destroy() })
  } catch (error) {
    session.destroy()
    throw error
  }
}

async function setUp(session: PhysicalSession, ours: boolean, settingsFor: (server: ServerIdentity) => readonly Setting[]): Promise<OpenSession> {
  const server = await identify(session)
  if (ours) {
    await session.command(unicode)
    await session.command(readCommitted)
  }
  await session.run(settingsStatement(settingsFor(server)))
  return { session, server }
}
