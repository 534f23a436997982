import { isSchedError, type ErrorClass } from '@sched/core/spi'
import { byDriverCode, byMessage, byNumber, byTimeoutMessage, poolTimeoutMessage, socketCodes } from './error-table.ts'

interface DriverError extends Error { readonly code?: unknown; readonly number?: unknown; readonly class?: unknown }

/** From severity 20 the server ends the connection. https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-error-severities */
const fatalSeverity = 20

/** What the server or the driver meant. What no row knows is `unknown`: the core destroys the session. */
export function classifySqlServer(error: unknown): ErrorClass {
  if (isSchedError(error)) return (error.details['errorClass'] as ErrorClass | undefined) ?? 'unknown'
  if (!(error instanceof Error)) return 'unknown'
  if (error instanceof AggregateError) return classOfSeveral(error.errors)
  const { number, code, class: severity } = error as DriverError
  if (typeof number === 'number') return byNumber.get(number) ?? (isFatal(severity) ? 'connection-lost' : byText(byMessage, error.message)) ?? (code === 'ELOGIN' ? 'authentication' : 'unknown')
  if (code === 'ETIMEOUT') return byText(byTimeoutMessage, error.message) ?? 'connection-lost'
  if (code === 'EINVALIDSTATE') return /not the SentClientRequest state/.test(error.message) ? 'unknown' : 'connection-lost' // a request of the user's is still running
  if (poolTimeoutMessage.test(error.message)) return 'resource-exhausted'
  if (typeof code !== 'string') return 'unknown'
  return byDriverCode.get(code) ?? (socketCodes.has(code) ? 'connection-lost' : 'unknown')
}

/** tedious puts several messages of one request into an AggregateError: the first that says something is the reason, the rest what became of it. */
function classOfSeveral(errors: readonly unknown[]): ErrorClass {
  return errors.map(classifySqlServer).find((errorClass) => errorClass !== 'unknown') ?? 'unknown'
}

function byText(table: typeof byMessage, message: string): ErrorClass | undefined {
  return table.find(([pattern]) => pattern.test(message))?.[1]
}

function isFatal(severity: unknown): boolean { return typeof severity === 'number' && severity >= fatalSeverity }

/** True when the server has said it, so that it has answered the request. */
export function isServerError(error: unknown): error is Error {
  return error instanceof Error && serverNumbers(error).length > 0
}

/** The numbers of the server's messages, in the order they came. */
export function serverNumbers(error: unknown): readonly number[] {
  if (error instanceof AggregateError) return error.errors.flatMap(serverNumbers)
  const number = error instanceof Error ? (error as DriverError).number : undefined
  return typeof number === 'number' ? [number] : []
}
