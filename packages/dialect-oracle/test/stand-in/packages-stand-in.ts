import { compilationError, NotModelledError, notDeclared, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import type { PlSqlValueStandIn } from './plsql-interpreter-stand-in.ts'
import type { OracleServerStandIn } from './server-stand-in.ts'
import type { SessionStandIn } from './session-stand-in.ts'
import { waitStandIn } from './waits-stand-in.ts'

type Argument = (name: string, position?: number) => PlSqlValueStandIn | undefined
type Assign = (name: string, value: PlSqlValueStandIn) => void

/** The functions and packages that a block may call, on behalf of one session. */
export class PackagesStandIn {
  readonly #server: OracleServerStandIn
  readonly #session: SessionStandIn

  constructor(server: OracleServerStandIn, session: SessionStandIn) {
    this.#server = server
    this.#session = session
  }

  /** At compilation: PLS-00201 for what the account may not see, PLS-00302 for what a package has not. */
  mustBeVisible(path: string): void {
    const { mayLock = true, autonomousAllocation = true } = this.#server.options
    if (path.startsWith('SYS.DBMS_LOCK.') && !mayLock) throw notDeclared('SYS.DBMS_LOCK')
    if (path === 'SYS.DBMS_LOCK.ALLOCATE_UNIQUE_AUTONOMOUS' && !autonomousAllocation) {
      throw compilationError("PLS-00302: component 'ALLOCATE_UNIQUE_AUTONOMOUS' must be declared")
    }
  }

  async call(path: string, argument: Argument, assign: Assign): Promise<PlSqlValueStandIn> {
    switch (path) {
      case 'SYS_CONTEXT': return this.#context(String(argument('NAMESPACE', 0)), String(argument('PARAMETER', 1)))
      case 'LEAST': return Math.min(Number(argument('', 0)), Number(argument('', 1)))
      case 'SYS.DBMS_SESSION.SET_IDENTIFIER': this.#session.identifier = text(argument('CLIENT_ID', 0)); return null
      case 'SYS.DBMS_UTILITY.IS_CLUSTER_DATABASE': return this.#server.options.cluster === true
      case 'SYS.DBMS_LOCK.SLEEP': await waitStandIn(this.#session, () => new Set(), Number(argument('SECONDS', 0)) * 1_000, () => () => {}); return null
      case 'SYS.DBMS_LOCK.ALLOCATE_UNIQUE':
        this.#allocate(argument, assign)
        this.#session.commitNow()
        return null
      case 'SYS.DBMS_LOCK.ALLOCATE_UNIQUE_AUTONOMOUS': this.#allocate(argument, assign); return null
      case 'SYS.DBMS_LOCK.REQUEST': return this.#request(argument)
      case 'SYS.DBMS_LOCK.RELEASE': return this.#server.userLocks.release(this.#session, this.#lockId(argument))
      default: throw new NotModelledError(path)
    }
  }

  #allocate(argument: Argument, assign: Assign): void {
    if (this.#server.readOnly) throw new OracleErrorStandIn(16000, 'database or pluggable database open for read-only access')
    assign('LOCKHANDLE', this.#server.userLocks.allocate(text(argument('LOCKNAME')) ?? '', Number(argument('EXPIRATION_SECS') ?? 864_000)))
  }

  #request(argument: Argument): Promise<number> {
    const { userLocks } = this.#server
    return userLocks.request(this.#session, this.#lockId(argument), Number(argument('LOCKMODE') ?? 6), Number(argument('TIMEOUT') ?? 32_767), argument('RELEASE_ON_COMMIT') === true)
  }

  /** Overloaded on a number and a text: without the name of the parameter nobody can tell (PLS-00307). */
  #lockId(argument: Argument): number | undefined {
    const handle = argument('LOCKHANDLE')
    if (handle === undefined) throw compilationError("PLS-00307: too many declarations of 'REQUEST' match this call")
    return this.#server.userLocks.idOf(handle)
  }

  #context(namespace: string, parameter: string): string | null {
    const { options } = this.#server
    if (namespace !== 'USERENV') throw new NotModelledError(`the context ${namespace}`)
    switch (parameter) {
      case 'SID': return String(this.#session.sid)
      case 'SESSIONID': return String(200_000 + this.#session.serial)
      case 'INSTANCE': return '1'
      case 'DB_NAME': return 'STANDIN'
      case 'CON_NAME': return options.container ?? 'STANDINPDB'
      case 'CURRENT_SCHEMA': return (options.user ?? 'app').toUpperCase()
      case 'DATABASE_ROLE': return options.role ?? 'PRIMARY'
      case 'CLOUD_SERVICE':
        if (options.knowsCloudService === false) throw new OracleErrorStandIn(2003, 'invalid USERENV parameter')
        return options.cloudService ?? null
      default: throw new OracleErrorStandIn(2003, 'invalid USERENV parameter')
    }
  }
}

function text(value: PlSqlValueStandIn | undefined): string | null { return value === undefined || value === null || value === '' ? null : String(value) }
