// Everything that a dialect author imports.
export { SchedError, isSchedError, type ErrorCode, type SchedErrorOptions } from '../errors.ts'
export { lockTableStatement } from '../ledger/schema.ts'
export { tableNames, type TableOptions } from '../ledger/tables.ts'
export type { LockCapabilities } from './capabilities.ts'
export type { Dialect, DialectModule } from './dialect.ts'
export { doubtfulEngine, recogniseEngine, refusedEngine, type Engine, type EngineKind, type EngineNames, type EngineVerdict } from './engine.ts'
export { sessionSurvives, transient, type ErrorClass } from './error-class.ts'
export { checkNamespace, encodeLockName, lockKey64, lockName, type LockKind, type LockName } from './lock-name.ts'
export type {
  HeldBy, LockConnection, LockDiagnostics, LockHolder, LockHolding, LockOutcome, LockRequest, LockSource, LockStrategy, OpenOptions, ReleaseOutcome,
} from './lock-source.ts'
export { OpenSessions } from './open-sessions.ts'
export { orAborted } from './or-aborted.ts'
export type { Finding, LockProbe, Probe } from './probe.ts'
export { redactSecrets, redactUrl } from './redact.ts'
export type { SqlResult, SqlRow, SqlSession, SqlValue, Statement } from './sql-session.ts'
export type { SessionOptions, SessionPurpose, SlotInsert, SqlFragments, SqlTypes, StatementOverrides, StoreDialect, Tables } from './store-dialect.ts'
