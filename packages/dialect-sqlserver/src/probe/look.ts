import { type Finding, type OpenOptions, orAborted } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { openSession } from '../session/open-session.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import { engineOf, type Engine } from './engine.ts'
import { commonFindings } from './fact-findings.ts'
import { readFacts, readIdentity, type ServerFacts } from './server-facts.ts'

/** What locks and store both want to know of the server. */
export interface Look {
  readonly engine: Engine
  /** Undefined when the engine is refused: nothing more was asked. */
  readonly facts: ServerFacts | undefined
  /** Of a closer look; `undefined` where none was taken. */
  readonly applocks: string | undefined
  readonly findings: readonly Finding[]
}

/** Asks more of an engine that is none of Microsoft's. Answers what is wrong, or undefined. */
export type CloserLook = (open: () => Promise<PhysicalSession>) => Promise<string | undefined>

/** Looks at the server. Nothing is changed; the connections, two at most, are closed before it answers. */
export async function lookAt(connector: Connector, options: OpenOptions, closerLook?: CloserLook): Promise<Look> {
  options.signal.throwIfAborted()
  const opened: PhysicalSession[] = []
  const destroyAll = (): void => { for (const session of opened) session.destroy() }
  const open = async (): Promise<PhysicalSession> => {
    const { session } = await openSession(connector, options, [])
    opened.push(session)
    if (options.signal.aborted) session.destroy()
    return session
  }
  try {
    return await orAborted(options.signal, ask(connector, open, closerLook), destroyAll)
  } finally {
    destroyAll()
  }
}

async function ask(connector: Connector, open: () => Promise<PhysicalSession>, closerLook: CloserLook | undefined): Promise<Look> {
  const first = await open()
  const { identity, ...place } = await readIdentity(first)
  const engine = engineOf(identity)
  if (engine.refusal !== undefined) return { engine, facts: undefined, applocks: undefined, findings: [engine.refusal] }
  const facts = await readFacts(first, place)
  first.destroy()
  const applocks = engine.kind === 'peer' ? await closerLook?.(open) : undefined
  return { engine, facts, applocks, findings: commonFindings(facts, connector.limit) }
}

/** What names are shared by: application locks and tables both belong to one database; the schema tells its tenants apart. */
export function scopeOf(facts: ServerFacts | undefined): string {
  return facts === undefined ? '' : `${facts.database}/${facts.schema}`
}
