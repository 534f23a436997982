import { isSchedError } from '@sched/core/spi'

/** Why a case failed, as data. */
export interface Failure {
  readonly message: string
  readonly code?: string
  /** The line of the case, for the author of a dialect. */
  readonly where?: string
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`a value that is no Error was thrown: ${String(thrown)}`, { cause: thrown })
}

/** What was thrown, with its causes, and without the diff that assertions print. */
export function describeFailure(thrown: unknown, redact: (text: string) => string): Failure {
  const error = asError(thrown)
  const code = codeOf(error)
  const where = /\/(cases\/[a-z-]+\.[jt]s:\d+)/.exec(error.stack ?? '')?.[1]
  return { message: redact(withCauses(error)), ...(code === undefined ? {} : { code }), ...(where === undefined ? {} : { where }) }
}

function withCauses(error: Error, depth = 0): string {
  const own = error.message.trim()
  if (!(error.cause instanceof Error) || depth >= 3) return own
  const cause = withCauses(error.cause, depth + 1)
  return own.includes(cause) ? own : `${own} (because: ${cause})`
}

function codeOf(error: Error): string | undefined {
  if (isSchedError(error)) return error.code
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' || typeof code === 'number' ? String(code) : undefined
}
