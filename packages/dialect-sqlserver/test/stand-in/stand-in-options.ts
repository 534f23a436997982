/** What the stand-in pretends to be. `peer`: a server that speaks TDS and is not SQL Server, as measured on Babelfish 4.4.0; `stock-peer`: as published, with other return codes. */
export type StandInKind = 'sql-server' | 'peer' | 'stock-peer'

export interface Account {
  readonly password: string
  /** VIEW SERVER STATE: sees all locks and sessions, and may end them (ALTER ANY CONNECTION). */
  readonly seesServer: boolean
}

export interface StandInOptions {
  readonly kind: StandInKind
  readonly database: string
  readonly accounts: Readonly<Record<string, Account>>
  readonly banner: string
  readonly productVersion: string
  /** https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql: 3 Enterprise, 5 Azure SQL Database, 8 Managed Instance. */
  readonly engineEdition: number
  readonly readOnly: boolean
  readonly delayedDurability: 'DISABLED' | 'ALLOWED' | 'FORCED'
  /** Undefined: not in an availability group. */
  readonly availabilityMode: 'SYNCHRONOUS_COMMIT' | 'ASYNCHRONOUS_COMMIT' | undefined
}

export const peerNumber = 33_557_097

const sqlServer: StandInOptions = {
  kind: 'sql-server', database: 'sched_test',
  accounts: { sched: { password: 'stand-in only', seesServer: true }, limited: { password: 'stand-in only', seesServer: false } },
  banner: 'Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64) [stand-in]', productVersion: '16.0.1000.6', engineEdition: 3,
  readOnly: false, delayedDurability: 'DISABLED', availabilityMode: undefined,
}

const peer: Partial<StandInOptions> = {
  banner: 'Babelfish for PostgreSQL with SQL Server Compatibility - 12.0.2000.8\nPostgreSQL 16.4 (Babelfish 4.4.0) [stand-in]', productVersion: '12.0.2000.8', engineEdition: 0,
}

export function standInOptions(given: Partial<StandInOptions>): StandInOptions {
  return { ...sqlServer, ...(given.kind === undefined || given.kind === 'sql-server' ? {} : peer), ...given }
}

/** Things that go wrong when a test says so. Each is used up by the first session that meets it, but for those that say otherwise. */
export interface Faults {
  /** What the next calls of sp_getapplock answer instead of locking; `none` is no return status at all. */
  getapplock: (number | 'none')[]
  /** The next statement through sp_executesql fails with this. */
  statement: { number: number; severity: number; message: string }[]
  /** The next login is refused with this. */
  login: { number: number; severity: number; message: string }[]
  /** Lasting: who logs in as this user is told that the database cannot be reached now (40613). */
  refusesUser: string | undefined
  /** A grant is not told until an attention has come: the two cross on their way. */
  grantCrossesAttention: boolean
  /** Lasting: no attention is answered. */
  ignoresAttention: boolean
  /** The connection is dropped as soon as the login has been answered. */
  dropsAfterLogin: boolean
  /** The connection is dropped when this kind of request has come, before (`request`) or after (`answer`) it was carried out. */
  drop: { request: 'commit' | 'statement' | 'getapplock'; at: 'request' | 'answer' }[]
}

export function noFaults(): Faults {
  return { getapplock: [], statement: [], login: [], refusesUser: undefined, grantCrossesAttention: false, ignoresAttention: false, dropsAfterLogin: false, drop: [] }
}
