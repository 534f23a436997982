import type { LockHolding, SqlFragments, SqlValue, Statement } from '@sched/core/spi'

/** A holding as its row is addressed: the encoded name, and the token where it is known (a grant's answer may be lost). */
export interface RowKey {
  readonly lockName: string
  readonly owner: string
  readonly fencingToken: LockHolding['fencingToken']
}

/** What a grant writes. */
export interface Grant {
  readonly lockName: string
  readonly owner: string
  readonly ownerLabel: string | null
  readonly leaseMs: number
}

/** Every statement on `sched_locks`: text and values, nothing else. Times are the database's, written by its own expression. */
export interface LockTableStatements {
  /** The whole acquire: one row with the token, or none when somebody holds it. Needs `supportsOnConflict`. */
  acquire(grant: Grant): Statement
  /** Portable, first step: takes over a row that is free or expired. */
  takeOver(grant: Grant): Statement
  /** Portable, second step: makes the row. A duplicate key says that somebody else made it just now. */
  insert(grant: Grant): Statement
  /** Portable, after each step: the row, held or not. */
  row(lockName: string): Statement
  /** Prolongs those of the rows that have not expired. */
  refresh(keys: readonly RowKey[], leaseMs: number): Statement
  /** The owners of those rows that are still held. */
  heldOf(keys: readonly RowKey[]): Statement
  /** Frees the row and keeps it, so that its token only grows. */
  release(key: RowKey): Statement
  /** The row when somebody holds it. */
  held(lockName: string): Statement
  /** Name and label of what is held under one of two labels. */
  heldUnder(labels: readonly [string, string]): Statement
}

export function lockTableStatements(sql: SqlFragments, table: string): LockTableStatements {
  const now = sql.nowMs
  // The larger of what follows the old token and of the clock: grows even when the row was purged or the database restored.
  const nextToken = (column: string): string => `CASE WHEN ${column} >= ${now} THEN ${column} + 1 ELSE ${now} END`
  const columns = 'lock_name, lock_owner, owner_label, acquired_at, expires_at, fencing_token'
  const firstGrant = `INSERT INTO ${table} AS held (${columns}) VALUES (?, ?, ?, ${now}, ${now} + ?, ${now})`

  return {
    acquire: ({ lockName, owner, ownerLabel, leaseMs }) => ({
      // The expiry is computed anew: where the clock moves, the row in `excluded` is older than the wait for the row lock.
      text: `${firstGrant} ON CONFLICT (lock_name) DO UPDATE SET lock_owner = excluded.lock_owner, owner_label = excluded.owner_label, `
        + `acquired_at = ${now}, expires_at = ${now} + ?, fencing_token = ${nextToken('held.fencing_token')} `
        + `WHERE held.lock_owner IS NULL OR held.expires_at <= ${now} RETURNING fencing_token`,
      params: [lockName, owner, ownerLabel, leaseMs, leaseMs],
    }),
    takeOver: ({ lockName, owner, ownerLabel, leaseMs }) => ({
      text: `UPDATE ${table} SET lock_owner = ?, owner_label = ?, acquired_at = ${now}, expires_at = ${now} + ?, fencing_token = ${nextToken('fencing_token')} `
        + `WHERE lock_name = ? AND (lock_owner IS NULL OR expires_at <= ${now})`,
      params: [owner, ownerLabel, leaseMs, lockName],
    }),
    insert: ({ lockName, owner, ownerLabel, leaseMs }) => ({
      text: `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ${now}, ${now} + ?, ${now})`,
      params: [lockName, owner, ownerLabel, leaseMs],
    }),
    row: (lockName) => ({ text: `SELECT lock_owner, fencing_token FROM ${table} WHERE lock_name = ?`, params: [lockName] }),
    refresh: (keys, leaseMs) => ({
      text: `UPDATE ${table} SET expires_at = ${now} + ? WHERE expires_at > ${now} AND (${anyOf(keys)})`,
      params: [leaseMs, ...keys.flatMap(keyParams)],
    }),
    heldOf: (keys) => ({
      text: `SELECT lock_owner FROM ${table} WHERE expires_at > ${now} AND (${anyOf(keys)})`,
      params: keys.flatMap(keyParams),
    }),
    release: (key) => ({
      text: `UPDATE ${table} SET lock_owner = NULL, owner_label = NULL, expires_at = ${now} WHERE expires_at > ${now} AND ${keyText(key)}`,
      params: keyParams(key),
    }),
    held: (lockName) => ({
      text: `SELECT lock_owner, owner_label, acquired_at, expires_at, fencing_token FROM ${table} `
        + `WHERE lock_name = ? AND lock_owner IS NOT NULL AND expires_at > ${now}`,
      params: [lockName],
    }),
    heldUnder: (labels) => ({
      text: `SELECT lock_name, owner_label FROM ${table}${sql.readHint} WHERE lock_owner IS NOT NULL AND expires_at > ${now} AND owner_label IN (?, ?)`,
      params: labels,
    }),
  }
}

function keyText({ fencingToken }: RowKey): string {
  return `lock_name = ? AND lock_owner = ?${fencingToken === undefined ? '' : ' AND fencing_token = ?'}`
}

function keyParams({ lockName, owner, fencingToken }: RowKey): SqlValue[] {
  return fencingToken === undefined ? [lockName, owner] : [lockName, owner, fencingToken]
}

function anyOf(keys: readonly RowKey[]): string {
  return keys.map((key) => `(${keyText(key)})`).join(' OR ')
}
