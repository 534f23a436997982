import { isSchedError, type ErrorClass } from '@sched/core/spi'
import { byMessage, byPoolerMessage, bySqlState, bySqlStateClass, poolerCode, socketCodes } from './error-table.ts'

/** What the server or the driver meant. Unlisted codes are `unknown`: the core destroys the session. */
export function classifyPostgres(error: unknown): ErrorClass {
  if (isSchedError(error)) return (error.details['errorClass'] as ErrorClass | undefined) ?? 'unknown'
  if (!(error instanceof Error)) return 'unknown'
  const { code, schema } = error as Error & { code?: unknown; schema?: unknown }
  if (typeof code !== 'string') return byText(byMessage, error.message) ?? 'unknown'
  // CREATE … IF NOT EXISTS looks and then writes the catalog; who loses that race violates an index of pg_type or pg_class [tried].
  if (code === '23505' && schema === 'pg_catalog') return 'already-exists'
  if (socketCodes.has(code)) return 'connection-lost'
  if (code === poolerCode) return byText(byPoolerMessage, error.message) ?? 'connection-lost'
  return bySqlState.get(code) ?? (isSqlState(code) ? bySqlStateClass.get(code.slice(0, 2)) : undefined) ?? 'unknown'
}

function byText(table: typeof byMessage, message: string): ErrorClass | undefined {
  return table.find(([pattern]) => pattern.test(message))?.[1]
}

/** The SQLSTATE of a server's error. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined
  return typeof code === 'string' && isSqlState(code) ? code : undefined
}

function isSqlState(code: string): boolean { return /^[0-9A-Z]{5}$/.test(code) }
