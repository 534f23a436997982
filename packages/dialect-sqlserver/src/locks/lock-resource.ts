import { encodeLockName, type LockName } from '@sched/core/spi'

/** A resource name has 255 characters; the server cuts longer ones without a word. https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql */
const longest = 255
/** This much of it can be seen in sys.dm_tran_locks, the rest is hashed. */
const visible = 32

const tagLength = 12

/**
 * A lock's name as sp_getapplock takes it. Short ones are what they are. Of longer ones the first 32 characters, all that operators
 * and `inspect` see, are a readable beginning, `~`, and 48 bits of the name's SHA-256, so that names with one beginning are told
 * apart; then the whole encoded name, which alone makes it the lock it is.
 */
export function lockResource(name: LockName): string {
  const short = encodeLockName(name, longest)
  if (short.length <= visible) return short
  const tag = Buffer.from(name.digest).toString('hex').slice(0, tagLength)
  const head = `${short.slice(0, visible - tagLength - 1)}~${tag}`
  return `${head}:${encodeLockName(name, longest - visible - 1)}`
}

/** What sys.dm_tran_locks shows of it. */
export function visiblePart(resource: string): string { return resource.slice(0, visible) }

/**
 * The visible part in a resource_description, documented as `<principal id>:<up to 32 characters>:<hash>`; servers write the two in
 * brackets, `0:[orders]:(a1b2c3d4)`. https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-locks-transact-sql
 */
export function describedResource(description: string): string | undefined {
  const match = /^\d+:(?:\[(.*)\]|(.*)):\(?[0-9a-f]+\)?\s*$/is.exec(description)
  return match?.[1] ?? match?.[2]
}
