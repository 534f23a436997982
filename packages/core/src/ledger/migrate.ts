import { randomUUID } from 'node:crypto'
import { SchedError } from '../errors.ts'
import { errorClassOf } from '../session/classified-error.ts'
import type { StoreSession } from '../session/store-session.ts'
import type { SqlFragments, Tables } from '../spi/store-dialect.ts'
import type { Clock } from '../time/clock.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import { metaTableStatement, minimumReader, schemaSteps, schemaVersion } from './schema.ts'
import type { TableOptions } from './tables.ts'

export interface MigrationContext {
  readonly sql: SqlFragments
  readonly tables: Tables
  readonly tableOptions: TableOptions
  readonly session: StoreSession
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

// The schema belongs to all namespaces. '' would be NULL on Oracle.
const everyNamespace = '*'
// Longer than any one statement of ours may take.
const leaseMs = 45_000
const waitMs = 60_000

/** The DDL as a person would run it. */
export function printSchema(sql: SqlFragments, tables: Tables, options: TableOptions): string {
  const statements = [metaTableStatement(sql, tables), ...schemaSteps(sql, tables, options).flatMap((step) => step.statements)]
  const value = (key: string, text: number): string => `INSERT INTO ${tables.meta} (namespace, meta_key, meta_value) VALUES ('${everyNamespace}', '${key}', '${text}')`
  return [...statements, value('schema_version', schemaVersion), value('min_reader', minimumReader)].map((statement) => `${statement};\n`).join('')
}

/**
 * Brings the tables to this version. Creates are tolerant, further steps run under a lease row, so that ten instances booting
 * together on an empty database all start. DDL commits implicitly on some databases: each statement may be repeated alone.
 * @throws SchedError SCHED_SCHEMA_TOO_NEW, SCHED_MIGRATION_BUSY, SCHED_PERMISSION
 */
export async function migrate(context: MigrationContext): Promise<void> {
  const watch = startStopwatch(context.clock)
  const owner = randomUUID()
  for (;;) {
    const found = await readVersion(context)
    if (found !== null && found >= schemaVersion) return
    if (found === null) await create(context, metaTableStatement(context.sql, context.tables))
    if (await takeLease(context, owner)) {
      for (const step of schemaSteps(context.sql, context.tables, context.tableOptions)) {
        if (found !== null && step.version <= found) continue
        for (const statement of step.statements) await create(context, statement)
      }
      await writeMeta(context, 'min_reader', String(minimumReader))
      await writeMeta(context, 'schema_version', String(schemaVersion))
      return
    }
    if (watch.elapsedMs() > waitMs) {
      throw new SchedError('SCHED_MIGRATION_BUSY', `another instance has been migrating the tables for ${waitMs} ms.`, { remedy: 'Look for a stuck deployment; its lease row ends by itself.' })
    }
    await sleep(context.clock, 50, context.signal)
  }
}

/** `migrate: false`: the tables must be there, or the error shows what is missing. */
export async function requireSchema(context: MigrationContext): Promise<void> {
  const found = await readVersion(context)
  if (found !== null && found >= schemaVersion) return
  throw new SchedError('SCHED_SCHEMA_MISSING', found === null ? 'the tables of @sched are not there.' : `the tables of @sched have version ${found}, this code needs ${schemaVersion}.`, {
    remedy: `Let it migrate (\`migrate: true\`), or have somebody who may create tables run:\n${printSchema(context.sql, context.tables, context.tableOptions)}`,
  })
}

/** The version in the database, null on an empty one. */
async function readVersion({ session, tables }: MigrationContext): Promise<number | null> {
  let rows
  try {
    ({ rows } = await session.run('reading the schema version', {
      text: `SELECT meta_key, meta_value FROM ${tables.meta} WHERE namespace = ? AND meta_key IN ('schema_version', 'min_reader')`, params: [everyNamespace],
    }))
  } catch (error) {
    if (errorClassOf(error) === 'missing-table') return null
    throw error
  }
  const value = (key: string): number | null => {
    const row = rows.find((candidate) => candidate['meta_key'] === key)
    return row === undefined ? null : Number(row['meta_value'])
  }
  const reader = value('min_reader')
  if (reader !== null && reader > schemaVersion) {
    throw new SchedError('SCHED_SCHEMA_TOO_NEW', `the tables may be used from schema version ${reader} on, this code knows ${schemaVersion}.`, { remedy: 'Update @sched/core.' })
  }
  return value('schema_version')
}

async function create({ session }: MigrationContext, statement: string): Promise<void> {
  try {
    await session.run('creating the tables of @sched', { text: statement, params: [] })
  } catch (error) {
    // PostgreSQL answers a lost CREATE race with a duplicate key of its own catalog.
    const errorClass = errorClassOf(error)
    if (errorClass !== 'already-exists' && errorClass !== 'duplicate-key') throw error
  }
}

/** The migration lease: `<owner> <expiry>`, taken by compare-and-set on the text. */
async function takeLease(context: MigrationContext, owner: string): Promise<boolean> {
  const { session, sql, tables } = context
  const { rows: [row] } = await session.run('reading the migration lease', {
    text: `SELECT meta_value, ${sql.nowMs} AS db_now FROM ${tables.meta} WHERE namespace = ? AND meta_key = 'migration'`, params: [everyNamespace],
  })
  if (row === undefined) {
    await writeMeta(context, 'migration', 'nobody 0')
    return false
  }
  const now = row['db_now'] as number
  if (Number(String(row['meta_value']).split(' ')[1]) > now) return false
  const { affected } = await session.run('taking the migration lease', {
    text: `UPDATE ${tables.meta} SET meta_value = ? WHERE namespace = ? AND meta_key = 'migration' AND meta_value = ?`,
    params: [`${owner} ${now + leaseMs}`, everyNamespace, row['meta_value'] as string],
  })
  return affected === 1
}

function writeMeta({ session, tables }: MigrationContext, key: string, value: string): Promise<void> {
  return putMeta(session, tables, everyNamespace, key, value)
}

/** UPDATE, else INSERT: works the same on every database. A lost INSERT race is somebody else's equally good row. */
export async function putMeta(session: StoreSession, tables: Tables, namespace: string, key: string, value: string): Promise<void> {
  const { affected } = await session.run('writing meta', { text: `UPDATE ${tables.meta} SET meta_value = ? WHERE namespace = ? AND meta_key = ?`, params: [value, namespace, key] })
  if (affected > 0) return
  try {
    await session.run('writing meta', { text: `INSERT INTO ${tables.meta} (namespace, meta_key, meta_value) VALUES (?, ?, ?)`, params: [namespace, key, value] })
  } catch (error) {
    if (errorClassOf(error) !== 'duplicate-key') throw error
  }
}
