import { lockKey64, type LockName } from '@sched/core/spi'

/** A name's number, as PostgreSQL takes it and as pg_locks shows it. */
export interface LockKey {
  /** The bigint, in decimal: a parameter may carry it as text. */
  readonly key: string
  /** pg_locks shows the high half in `classid` and the low one in `objid`, both unsigned. */
  readonly classId: string
  readonly objId: string
}

/** https://www.postgresql.org/docs/current/view-pg-locks.html: "a bigint key is displayed with its high-order half in the classid column" */
export function lockKey(name: LockName): LockKey {
  const key = lockKey64(name)
  const bits = BigInt.asUintN(64, key)
  return { key: String(key), classId: String(bits >> 32n), objId: String(bits & 0xffff_ffffn) }
}
