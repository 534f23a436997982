import { createHash } from 'node:crypto'
import type { TableOptions } from '../ledger/tables.ts'

/**
 * The namespace of set-ups that name none: made of what the probe calls its scope (database and schema) and of where the tables
 * are, so that staging and production on one server do not block each other. A readable prefix and 48 bits of SHA-256.
 * Frozen by golden vectors: two versions of the library must exclude each other during a rolling deploy.
 */
export function defaultNamespace(scope: string, tables: TableOptions = {}): string {
  const { schema = '', prefix = 'sched_' } = tables
  const hash = createHash('sha256').update(JSON.stringify([scope, schema, prefix]), 'utf8').digest('hex').slice(0, 12)
  const readable = scope.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '').slice(0, 19)
  return readable === '' ? hash : `${readable}-${hash}`
}
