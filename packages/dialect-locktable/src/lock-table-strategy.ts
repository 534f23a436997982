import {
  encodeLockName, type HeldBy, type LockHolder, type LockHolding, type LockName, type LockOutcome, type LockStrategy, type ReleaseOutcome, type SqlRow,
  type SqlSession, type StoreDialect,
} from '@sched/core/spi'
import { onSession, type LockTableConnection } from './lock-table-connection.ts'
import { lockTableStatements, type Grant, type LockTableStatements, type RowKey } from './lock-table-statements.ts'

// The widths of `lock_name` and `owner_label`.
const longestName = 190
const longestLabel = 190

// Well inside what every product takes (SQLite: expressions 1,000 deep, SQL Server: 2,100 values).
const rowsPerStatement = 100

/** Leases as rows, judged by the database's clock. Errors pass through: a table that is gone is not a lock that is refused. */
export function lockTableStrategy({ sql: fragments, classify }: Pick<StoreDialect, 'sql' | 'classify'>): LockStrategy<LockTableConnection> {
  const statementsOn = ({ table }: LockTableConnection): LockTableStatements => lockTableStatements(fragments, table)
  const heldRow = async (connection: LockTableConnection, name: LockName): Promise<SqlRow | undefined> => {
    const statement = statementsOn(connection).held(encodeLockName(name, longestName))
    return (await onSession(connection, (sql) => sql.run(statement))).rows[0]
  }

  return {
    async tryLock(connection, { name, owner, ownerLabel, leaseMs }): Promise<LockOutcome> {
      const statements = statementsOn(connection)
      const grant: Grant = { lockName: encodeLockName(name, longestName), owner, ownerLabel: shortened(ownerLabel), leaseMs }
      if (fragments.supportsOnConflict) {
        return onSession(connection, async (sql) => outcomeOf((await sql.run(statements.acquire(grant))).rows[0]))
      }
      try {
        return await onSession(connection, (sql) => acquireInSteps(sql, statements, grant))
      } catch (error) {
        if (classify(error) === 'duplicate-key') return { status: 'refused' } // somebody else made the row just now
        throw error
      }
    },

    async release(connection, holding): Promise<ReleaseOutcome> {
      const { affected } = await onSession(connection, (sql) => sql.run(statementsOn(connection).release(keyOf(holding))))
      return { status: affected === 1 ? 'released' : 'not-held' }
    },

    async refresh(connection, holdings, leaseMs) {
      const statements = statementsOn(connection)
      const lost: string[] = []
      for (let start = 0; start < holdings.length; start += rowsPerStatement) {
        const keys = holdings.slice(start, start + rowsPerStatement).map(keyOf)
        lost.push(...await onSession(connection, (sql) => refreshRows(sql, statements, keys, leaseMs)))
      }
      return { lost }
    },

    async isHeld(connection, { name, owner, fencingToken }): Promise<HeldBy> {
      const row = await heldRow(connection, name)
      if (row === undefined) return 'free'
      return row['lock_owner'] === owner && (fencingToken === undefined || row['fencing_token'] === fencingToken) ? 'mine' : 'other'
    },

    async inspect(connection, name): Promise<LockHolder | null> {
      const row = await heldRow(connection, name)
      return row === undefined ? null : holderOf(row)
    },
  }
}

/**
 * For databases without an atomic upsert. `affected` says whether the WHERE of the take-over matched, whatever the driver counts (the
 * token changes, so matched rows are changed rows); the token itself is read back by owner. A held row costs no failing insert.
 */
async function acquireInSteps(sql: SqlSession, statements: LockTableStatements, grant: Grant): Promise<LockOutcome> {
  const look = async (): Promise<SqlRow | undefined> => (await sql.run(statements.row(grant.lockName))).rows[0]
  const { affected } = await sql.run(statements.takeOver(grant))
  let row = await look()
  if (affected === 0) {
    if (row !== undefined) return { status: 'refused' }
    await sql.run(statements.insert(grant))
    row = await look()
  }
  // Somebody else's when this process froze until its lease was over.
  return row?.['lock_owner'] === grant.owner ? outcomeOf(row) : { status: 'refused' }
}

async function refreshRows(sql: SqlSession, statements: LockTableStatements, keys: readonly RowKey[], leaseMs: number): Promise<string[]> {
  const { affected } = await sql.run(statements.refresh(keys, leaseMs))
  if (affected === keys.length) return []
  const { rows } = await sql.run(statements.heldOf(keys))
  const held = new Set(rows.map((row) => row['lock_owner']))
  return keys.map(({ owner }) => owner).filter((owner) => !held.has(owner))
}

function outcomeOf(row: SqlRow | undefined): LockOutcome {
  return row === undefined ? { status: 'refused' } : { status: 'granted', fencingToken: row['fencing_token'] as number }
}

function holderOf(row: SqlRow): LockHolder {
  const label = row['owner_label']
  return {
    owner: row['lock_owner'] as string,
    ...(typeof label === 'string' ? { ownerLabel: label } : {}),
    sinceAt: row['acquired_at'] as number,
    expiresAt: row['expires_at'] as number,
    fencingToken: row['fencing_token'] as number,
  }
}

function keyOf({ name, owner, fencingToken }: LockHolding): RowKey {
  return { lockName: encodeLockName(name, longestName), owner, fencingToken }
}

function shortened(label: string): string | null {
  return label === '' ? null : [...label].slice(0, longestLabel).join('') // '' would be NULL on Oracle alone
}
