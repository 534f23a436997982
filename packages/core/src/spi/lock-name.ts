import { createHash } from 'node:crypto'
import { SchedError } from '../errors.ts'

/** Executor, user and core locks live in kinds of their own, so that a handler may lock its task's name. */
export type LockKind = 'task' | 'user' | 'core'

/** A checked lock name. Names that differ by case, by a trailing space or by kind are different locks on every database. */
export interface LockName {
  readonly namespace: string
  readonly kind: LockKind
  /** As given, in Unicode normal form C. */
  readonly name: string
  /** `<length of namespace>:<namespace>:<kind letter>:<name>`: one string for one lock, one lock for one string. */
  readonly canonical: string
  /** SHA-256 of the canonical form in UTF-8. */
  readonly digest: Uint8Array
}

const kindLetters: Record<LockKind, string> = { task: 't', user: 'u', core: 'c' }
const longestName = 255

/** @throws SchedError SCHED_NAMESPACE_INVALID */
export function checkNamespace(namespace: string): string {
  if (typeof namespace === 'string' && /^[a-z0-9_-]{1,32}$/.test(namespace)) return namespace
  throw new SchedError('SCHED_NAMESPACE_INVALID', `the namespace ${JSON.stringify(namespace)} is not valid: expected 1 to 32 of a-z, 0-9, "_" and "-".`)
}

/**
 * Checks a name: any Unicode string of 1 to 255 code points, without NUL and without lone surrogates.
 * The result is frozen by golden vectors: two versions of the library must exclude each other during a rolling deploy.
 * @throws SchedError SCHED_LOCK_NAME_INVALID, SCHED_NAMESPACE_INVALID
 */
export function lockName(namespace: string, kind: LockKind, name: string): LockName {
  checkNamespace(namespace)
  const fault = nameFault(name)
  if (fault !== undefined) {
    throw new SchedError('SCHED_LOCK_NAME_INVALID', `the lock name ${describe(name)} ${fault}: expected a string of 1 to ${longestName} Unicode characters without NUL.`)
  }
  const normal = name.normalize('NFC')
  const canonical = `${namespace.length}:${namespace}:${kindLetters[kind]}:${normal}`
  const digest = createHash('sha256').update(canonical, 'utf8').digest()
  return { namespace, kind, name: normal, canonical, digest }
}

/** What is wrong with a name of ours (lock or task), or undefined. */
export function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string') return `is a ${typeof name}`
  if (name === '') return 'is empty'
  if (name.includes('\0')) return 'contains NUL'
  if (!name.isWellFormed()) return 'contains a lone surrogate'
  const points = [...name].length
  return points > longestName ? `has ${points} characters` : undefined
}

function describe(name: unknown): string {
  const text = JSON.stringify(name) ?? String(name)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** RFC 4648 base32 in lower case without padding: survives databases that fold case. 32 bytes become 52 characters. */
function toBase32(bytes: Uint8Array): string {
  let text = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += base32[(buffer >> bits) & 31]
    }
  }
  return bits > 0 ? text + base32[(buffer << (5 - bits)) & 31] : text
}

/**
 * The name as a database may store it: at most `maxLength` characters (at least 56) of `a-z 0-9 _ . : - ~`.
 * Injective: the canonical form itself where it is made of safe characters and fits, else a readable prefix, `~` and the whole
 * SHA-256. Only the hashed form contains `~`, so a name that looks like a hash collides with nothing.
 */
export function encodeLockName(name: LockName, maxLength: number): string {
  if (maxLength < 56) throw new RangeError(`encodeLockName needs room for a prefix and a hash: maxLength ${maxLength} < 56`)
  if (name.canonical.length <= maxLength && /^[a-z0-9_.:-]+$/.test(name.canonical)) return name.canonical
  const hash = `~${toBase32(name.digest)}`
  const prefix = name.canonical.toLowerCase().replaceAll(/[^a-z0-9_.:-]/g, '_').slice(0, maxLength - hash.length)
  return prefix + hash
}

/** 64 bits of the SHA-256 as a signed integer, for databases whose locks have numbers (32-bit hashes collide in practice). */
export function lockKey64(name: LockName): bigint {
  return Buffer.from(name.digest.buffer, name.digest.byteOffset, 8).readBigInt64BE(0)
}
