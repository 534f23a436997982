import { isSchedError, type ErrorClass } from '@sched/core/spi'
import { byCode, byMessage, byNumber, byVendor } from './error-table.ts'
import { vendorOf } from './vendor.ts'

/** What the server or the driver meant. Unlisted numbers are `unknown`: the core destroys the session. */
export function classifyMysql(error: unknown): ErrorClass {
  if (isSchedError(error)) return (error.details['errorClass'] as ErrorClass | undefined) ?? 'unknown'
  if (!(error instanceof Error)) return 'unknown'
  const number = errorNumber(error)
  const { code } = error as Error & { code?: unknown }
  if (number !== undefined) {
    const vendor = vendorOf(error)
    return (vendor === undefined ? undefined : byVendor[vendor].get(number)) ?? byNumber.get(number) ?? byDriver(code) ?? 'unknown'
  }
  return byDriver(code) ?? byMessage.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'unknown'
}

function byDriver(code: unknown): ErrorClass | undefined { return typeof code === 'string' ? byCode.get(code) : undefined }

/**
 * The server's number. `code` is the driver's name for it, or nothing where the driver knows none (4163, 1969); of the packet that
 * MySQL sends unasked before it ends an idle session, the driver puts the number into `code` and leaves `errno` out. System errors
 * have negative numbers.
 */
export function errorNumber(error: unknown): number | undefined {
  const { errno, code } = error instanceof Error ? error as Error & { errno?: unknown; code?: unknown } : {}
  const number = typeof errno === 'number' ? errno : code
  return typeof number === 'number' && number > 0 ? number : undefined
}
