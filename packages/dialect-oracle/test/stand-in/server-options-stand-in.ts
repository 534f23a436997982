/** What the server is like. Everything has the usual value unless a test says otherwise. */
export interface ServerOptionsStandIn {
  readonly user?: string
  readonly password?: string
  readonly service?: string
  readonly version?: string
  /** EXECUTE on SYS.DBMS_LOCK. */
  readonly mayLock?: boolean
  /** SELECT on gv$lock and gv$session, ALTER SYSTEM. */
  readonly maySeeSessions?: boolean
  /** The package has ALLOCATE_UNIQUE_AUTONOMOUS. */
  readonly autonomousAllocation?: boolean
  readonly role?: string
  readonly openMode?: string
  readonly container?: string
  readonly cluster?: boolean
  /** An Autonomous Database: knows CLOUD_SERVICE, and refuses COMMIT_WAIT. */
  readonly cloudService?: string
  /** CLOUD_SERVICE is no parameter of USERENV here (older servers). */
  readonly knowsCloudService?: boolean
  readonly characterSet?: string
  readonly limits?: Readonly<Record<string, string>>
  readonly sessions?: number
}
