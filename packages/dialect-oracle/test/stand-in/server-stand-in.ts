import { OracleErrorStandIn } from './oracle-error-stand-in.ts'
import { RowLocksStandIn } from './row-locks-stand-in.ts'
import type { ServerOptionsStandIn } from './server-options-stand-in.ts'
import { SessionStandIn } from './session-stand-in.ts'
import { TablesStandIn, type ValueStandIn } from './tables-stand-in.ts'
import { UserLocksStandIn } from './user-locks-stand-in.ts'

/**
 * A stand-in for Oracle Database: sessions, the user locks of DBMS_LOCK, rows with their locks, and the views this package reads, as
 * the manual describes them. It is a model of documents, not of Oracle: what a test proves on it is that our side does what the
 * documents ask for. How it is reached (the driver's surface, the wire) is not its business.
 */
export class OracleServerStandIn {
  readonly options: ServerOptionsStandIn
  readonly userLocks: UserLocksStandIn
  readonly rowLocks: RowLocksStandIn = new RowLocksStandIn()
  readonly tables: TablesStandIn
  readonly sessions: Set<SessionStandIn> = new Set()
  /** Added to the clock: tests move it. */
  clockOffsetMs = 0
  #nextSerial = 1

  constructor(options: ServerOptionsStandIn = {}) {
    this.options = options
    // Not Date.now(): cases shift it to give the client a wrong clock, and the server's is another.
    const now = (): number => Math.floor(performance.timeOrigin + performance.now() + this.clockOffsetMs)
    this.userLocks = new UserLocksStandIn(now)
    this.tables = new TablesStandIn(now)
  }

  get readOnly(): boolean { return (this.options.openMode ?? 'READ WRITE') !== 'READ WRITE' || /STANDBY/.test(this.options.role ?? '') }

  /** @throws ORA-01017, ORA-00018 */
  logOn(user: string, password: string): SessionStandIn {
    this.mustKnow(user, password)
    return this.open()
  }

  mustKnow(user: string, password: string): void {
    const { user: knownUser = 'app', password: knownPassword = 'stand-in-password' } = this.options
    if (user.toLowerCase() !== knownUser.toLowerCase() || password !== knownPassword) throw new OracleErrorStandIn(1017, 'invalid credential or not authorized; logon denied')
  }

  open(): SessionStandIn {
    if (this.sessions.size >= (this.options.sessions ?? 300)) throw new OracleErrorStandIn(18, 'maximum number of sessions exceeded')
    const taken = new Set([...this.sessions].map(({ sid }) => sid))
    let sid = 10
    while (taken.has(sid)) sid += 1 // numbers are used again
    const session = new SessionStandIn(this, sid, this.#nextSerial++)
    this.sessions.add(session)
    return session
  }

  /** ALTER SYSTEM KILL SESSION … IMMEDIATE. https://docs.oracle.com/en/error-help/db/ora-00028/ */
  kill(sid: number, serial: number): void {
    const session = [...this.sessions].find((candidate) => candidate.sid === sid && candidate.serial === serial)
    if (session === undefined) throw new OracleErrorStandIn(30, 'User session ID does not exist.')
    session.end(new OracleErrorStandIn(28, 'your session has been killed'))
  }

  sessionEnded(session: SessionStandIn): void {
    this.sessions.delete(session)
    this.userLocks.sessionEnded(session)
  }

  /** Fills the views that a statement names. A view that may not be seen is a table that does not exist. */
  showViews(statement: string): void {
    for (const [view, [columns, rows]] of this.#views()) {
      if (new RegExp(`\\b${view.replaceAll('$', '\\$')}(?![\\w$])`, 'i').test(statement)) this.tables.fill(view, columns, rows())
    }
    if (this.options.maySeeSessions === false && /\bgv\$|\bv\$database/.test(statement)) throw new OracleErrorStandIn(942, 'table or view does not exist')
  }

  close(): void {
    for (const session of [...this.sessions]) session.end()
    this.tables.close()
  }

  #views(): ReadonlyMap<string, readonly [readonly string[], () => readonly (readonly ValueStandIn[])[]]> {
    const { options } = this
    const procedures = ['ALLOCATE_UNIQUE', 'REQUEST', 'RELEASE', 'SLEEP', ...(options.autonomousAllocation === false ? [] : ['ALLOCATE_UNIQUE_AUTONOMOUS'])]
    return new Map<string, readonly [readonly string[], () => readonly (readonly ValueStandIn[])[]]>([
      ['nls_database_parameters', [['parameter', 'value'], () => [['NLS_CHARACTERSET', options.characterSet ?? 'AL32UTF8']]]],
      ['user_resource_limits', [['resource_name', '"limit"'], () => Object.entries(options.limits ?? { IDLE_TIME: 'UNLIMITED', SESSIONS_PER_USER: 'UNLIMITED' })]],
      ['v$database', [['open_mode'], () => [[options.openMode ?? 'READ WRITE']]]],
      ['all_procedures', [['owner', 'object_name', 'procedure_name'], () => (options.mayLock === false ? [] : procedures.map((name) => ['SYS', 'DBMS_LOCK', name]))]],
      ['gv$session', [['sid', 'serial_number', 'inst_id', 'username', 'machine', 'client_identifier', 'status'],
        () => [...this.sessions].map(({ sid, serial, identifier }) => [sid, serial, 1, (options.user ?? 'app').toUpperCase(), 'stand-in-host', identifier, 'ACTIVE'])]],
      ['gv$lock', [['inst_id', 'sid', 'type', 'id1', 'lmode', 'request', 'ctime'],
        () => this.userLocks.rows().map(({ id, session, heldMs }) => [1, (session as SessionStandIn).sid, 'UL', id, 6, 0, Math.floor(heldMs / 1_000)])]],
    ])
  }
}
