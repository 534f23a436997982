import { OpenSessions, orAborted, SchedError } from '@sched/core/spi'
import { PhysicalSession } from '../session/physical-session.ts'
import type { Connector } from './connector.ts'
import { loadDriver } from './driver.ts'
import type { LendingPool, LentPool, MssqlPool, TediousConnection } from './tedious-types.ts'

/** mssql's own default. https://github.com/tediousjs/node-mssql#general-same-for-all-drivers */
const defaultLimit = 10

/**
 * Connections of the user's mssql pool, lent by `acquire` and so pinned. The pool never resets a session (node-mssql#1483), so what
 * was borrowed is closed in the end: the pool finds it closed when it looks at it next, and opens another.
 */
export function poolConnector<TPool extends LendingPool>(pool: TPool): Connector<LentPool<TPool>> {
  const sessions = new OpenSessions('SQL Server')
  return {
    limit: limitOf(pool),
    unnamed: true,
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const driver = loadDriver('mssql')
      const connection = await orAborted(signal, borrow(pool), (late) => { discard(pool, late) })
      const session = new PhysicalSession<LentPool<TPool>>({
        driver, connection, client: lentClient(pool, connection),
        release: () => {
          sessions.delete(session)
          giveBackClosed(pool, connection)
        },
      })
      sessions.add(session)
      try {
        sessions.refuseWhenClosed()
      } catch (error) {
        session.destroy()
        throw error
      }
      return session
    },
    close() { sessions.close() },
  }
}

function borrow(pool: LendingPool): Promise<TediousConnection> {
  return new Promise((resolve, reject) => {
    pool.acquire({}, (error, connection) => {
      if (error !== null && error !== undefined) reject(error)
      else if (isTedious(connection)) resolve(connection)
      else {
        pool.release(connection)
        reject(notPinned('its connections are not of tedious (mssql/msnodesqlv8 has others)'))
      }
    })
  })
}

/** A connection that arrives when nobody waits any more has nothing of ours on it. */
function discard(pool: LendingPool, late: Promise<TediousConnection>): void {
  late.then((connection) => { pool.release(connection) }, () => {}) // no connection after all; the caller has been told of the abort
}

function giveBackClosed(pool: LendingPool, connection: TediousConnection): void {
  connection.close()
  pool.release(connection)
}

/** The pool itself as mssql's requests see it, but with one connection to lend: it answers every `acquire`, and nothing takes it back. */
function lentClient<TPool extends LendingPool>(pool: TPool, connection: TediousConnection): LentPool<TPool> {
  const acquire: LendingPool['acquire'] = (_requester, answer) => { process.nextTick(answer, null, connection, pool.config) }
  const pinned = Object.create(pool, { acquire: { value: acquire }, release: { value: () => pinned } }) as TPool
  return { request: () => pinned.request() as ReturnType<TPool['request']>, connection }
}

function limitOf({ config }: LendingPool): number {
  const max = (config as { pool?: { max?: unknown } } | undefined)?.pool?.max
  return typeof max === 'number' ? max : defaultLimit
}

function isTedious(connection: unknown): connection is TediousConnection {
  const { execSqlBatch, callProcedure, beginTransaction, close } = (connection ?? {}) as Partial<Record<keyof TediousConnection, unknown>>
  return [execSqlBatch, callProcedure, beginTransaction, close].every((method) => typeof method === 'function')
}

/** @throws SchedError SCHED_OPTION_INVALID for what cannot lend a connection to keep */
export function checkPool(pool: MssqlPool): LendingPool {
  const { acquire, release, request } = (pool ?? {}) as Partial<Record<keyof LendingPool, unknown>>
  if (![acquire, release, request].every((method) => typeof method === 'function')) throw notPinned('it has no acquire() and release()')
  if ('begin' in pool) throw notPinned('it is a transaction')
  return pool as LendingPool
}

function notPinned(why: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', `the option pool cannot pin a connection: ${why}.`, {
    remedy: 'Give sqlserver() a connected ConnectionPool of `mssql` on tedious, or { url } or { config }. A request of a pool (pool.request()) runs on another connection each time, where a lock would be left behind.',
  })
}
