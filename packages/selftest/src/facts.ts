import type { LockCapabilities } from '@sched/core/spi'
import type { Requirement } from './case.ts'

/** What is known about the dialect and the server at hand before the first case. */
export interface Facts {
  /** As the probe found them, not as the dialect advertises them. */
  readonly capabilities: LockCapabilities
  /** The source can count what a label holds. */
  readonly diagnostics: boolean
  /** Connections have ids, and the server can list those of a label. */
  readonly serverSessions: boolean
  /** The server can be asked to end a session. */
  readonly kill: boolean
  readonly store: boolean
  /** The locks are rows of a table of ours. */
  readonly lockTable: boolean
  /** The connection is a session that runs SQL as well. */
  readonly sql: boolean
  /** The target has a password that must not be seen anywhere. */
  readonly password: boolean
}

const requirement = (name: string, met: (facts: Facts) => boolean): Requirement => ({ name, met })

export const needsLease: Requirement = requirement('a lease (capability kind: lease)', ({ capabilities }) => capabilities.kind === 'lease')
export const needsSession: Requirement = requirement('locks of a session (capability kind: session)', ({ capabilities }) => capabilities.kind === 'session')
export const needsBoundedStaleness: Requirement = requirement('a lease that the server enforces (capability boundedStaleness)', ({ capabilities }) => capabilities.boundedStaleness)
export const needsServerSideWait: Requirement = requirement('a wait inside the server (capability serverSideWait)', ({ capabilities }) => capabilities.serverSideWait)
export const needsTokens: Requirement = requirement('fencing tokens (capability fencing: row)', ({ capabilities }) => capabilities.fencing === 'row')
export const needsInspection: Requirement = requirement('knowledge of the holder (capability inspection)', ({ capabilities }) => capabilities.inspection)
export const needsDiagnostics: Requirement = requirement('diagnostics', (facts) => facts.diagnostics)
export const needsServerSessions: Requirement = requirement('sessions that the server can list', (facts) => facts.serverSessions)
export const needsStore: Requirement = requirement('a store', (facts) => facts.store)
export const needsLockTable: Requirement = requirement('locks in a table', (facts) => facts.lockTable)
export const needsSql: Requirement = requirement('connections that run SQL', (facts) => facts.sql)
export const needsPassword: Requirement = requirement('a target with a password', (facts) => facts.password)

/** Everything that is asked for. */
export function allOf(...parts: readonly Requirement[]): Requirement {
  return requirement(parts.map(({ name }) => name).join(' and '), (facts) => parts.every((part) => part.met(facts)))
}
