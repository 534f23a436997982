import { type Engine, type Finding, type OpenOptions, orAborted } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import { identify } from '../session/server-identity.ts'
import { engineOf } from './engine.ts'
import { commonFindings } from './fact-findings.ts'
import { probedSettings, readFacts, type ServerFacts } from './server-facts.ts'

/** What locks and store both want to know of the server. */
export interface Look {
  readonly engine: Engine
  /** Undefined when the engine is refused for this use: nothing more was asked. */
  readonly facts: ServerFacts | undefined
  readonly findings: readonly Finding[]
}

/** Looks at the server through one session on which nothing is set. Nothing is changed; the connection is closed before it answers. */
export async function lookAt(connector: Connector, use: 'locks' | 'store', { signal }: OpenOptions): Promise<Look> {
  const session = await connector.connect(signal)
  try {
    return await orAborted(signal, ask(session, connector, use), () => { session.destroy() })
  } finally {
    session.destroy()
  }
}

async function ask(session: PhysicalSession, connector: Connector, use: 'locks' | 'store'): Promise<Look> {
  const identity = await identify(session, probedSettings)
  const engine = engineOf(identity.settings.get('version') ?? '', identity.settings.get('version_comment') ?? '')
  const findings = engine.findings[use]
  if (findings.some(({ level }) => level === 'refuse')) return { engine, facts: undefined, findings }
  const facts = await readFacts(session, identity)
  return { engine, facts, findings: [...findings, ...commonFindings(facts, engine, connector.limit)] }
}
