import { type Engine, type Finding, type OpenOptions, orAborted } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import { engineOf } from './engine.ts'
import { commonFindings } from './fact-findings.ts'
import { readFacts, type ServerFacts } from './server-facts.ts'
import { sessionsAreShared } from './shared-sessions.ts'

/** What locks and store both want to know of the server. */
export interface Look {
  readonly engine: Engine
  /** Undefined when the engine is refused for this use: nothing more was asked. */
  readonly facts: ServerFacts | undefined
  readonly sharedSessions: boolean
  readonly findings: readonly Finding[]
}

/**
 * Looks at the server through sessions on which nothing is set: it is not known yet whether they belong to us. Nothing is changed;
 * the connections, up to four at a time, are closed before it answers.
 */
export async function lookAt(connector: Connector, use: 'locks' | 'store', { signal }: OpenOptions): Promise<Look> {
  signal.throwIfAborted()
  const open: PhysicalSession[] = []
  const recording: Connector = {
    ...connector,
    async connect(opening) {
      const session = await connector.connect(opening)
      open.push(session)
      return session
    },
  }
  try {
    return await orAborted(signal, ask(recording, use, signal))
  } finally {
    for (const session of open) session.destroy()
  }
}

async function ask(connector: Connector, use: 'locks' | 'store', signal: AbortSignal): Promise<Look> {
  const first = await connector.connect(signal)
  const { rows: [row] } = await first.run({ text: 'SELECT version() AS version', params: [] })
  const engine = engineOf(String(row?.['version']))
  const findings = engine.findings[use]
  if (findings.some(({ level }) => level === 'refuse')) return { engine, facts: undefined, sharedSessions: false, findings }
  const facts = await readFacts(first)
  const sharedSessions = await sessionsAreShared(connector, first, Math.min(connector.limit ?? Infinity, facts.connections ?? Infinity), signal)
  return { engine, facts, sharedSessions, findings: [...findings, ...commonFindings(facts, engine.genuine, connector.limit)] }
}

/** What names are shared by: advisory keys and tables both belong to one database; the schema tells its tenants apart. */
export function scopeOf(facts: ServerFacts | undefined): string {
  return facts === undefined ? '' : `${facts.database}/${facts.schema ?? ''}`
}
