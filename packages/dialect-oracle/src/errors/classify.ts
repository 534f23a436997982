import { isSchedError, type ErrorClass } from '@sched/core/spi'
import { byDriverCode, byOracleCode } from './error-table.ts'

/** What the server or the driver meant. Unlisted codes are `unknown`: the core destroys the session. */
export function classifyOracle(error: unknown): ErrorClass {
  if (isSchedError(error)) return (error.details['errorClass'] as ErrorClass | undefined) ?? 'unknown'
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as Error & { code?: unknown }
  if (typeof code !== 'string') return 'unknown'
  // The listener's own number is behind `Cause:`.
  if (code === 'NJS-511') return knownWithin(error.message) ?? 'connection-lost'
  if (code.startsWith('NJS-')) return byDriverCode.get(code) ?? 'unknown'
  const number = oracleNumber(code)
  if (number === undefined) return 'unknown'
  if (number === 6550) return classOfCompilation(error.message)
  // ORA-20000 is anybody's; ORU-10003 behind it is DBMS_LOCK's: the name could not be found or inserted into dbms_lock_allocated.
  if (number === 20000 && /\bORU-10003\b/.test(error.message)) return 'contended'
  return byOracleCode.get(number) ?? 'unknown'
}

/** A block that did not compile says why in PLS and ORA numbers behind ORA-06550. https://docs.oracle.com/en/error-help/db/ora-06550/ */
function classOfCompilation(message: string): ErrorClass {
  // PLS-00201: identifier must be declared (it is not there, or may not be seen); PLS-00904: insufficient privilege to access object.
  if (/\bPLS-00(201|904)\b/.test(message)) return 'permission'
  // PLS-00302: component must be declared: this release of the package has no such procedure.
  if (/\bPLS-00302\b/.test(message)) return 'unsupported'
  return knownWithin(message) ?? 'unknown'
}

function knownWithin(message: string): ErrorClass | undefined {
  const classes = [...message.matchAll(/\bORA-(\d{5})\b/g)].map(([, digits]) => byOracleCode.get(Number(digits)))
  return classes.find((found) => found !== undefined)
}

/** The number in `ORA-00942`. */
function oracleNumber(code: string): number | undefined {
  const digits = /^ORA-(\d{5})$/.exec(code)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
