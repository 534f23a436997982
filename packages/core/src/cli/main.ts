import { parseArgs } from 'node:util'
import { resolveDialect } from '../dialect/resolve.ts'
import { isSchedError } from '../errors.ts'
import { migrate, printSchema } from '../ledger/migrate.ts'
import { schemaSession } from '../ledger/schema-session.ts'
import { tableNames, type TableOptions } from '../ledger/tables.ts'
import { sessionLabel } from '../locks/owner-label.ts'
import { reachDatabase } from '../locks/reach-database.ts'
import type { Dialect } from '../spi/dialect.ts'
import { redactSecrets } from '../spi/redact.ts'
import { systemClock } from '../time/clock.ts'

export interface Output { out(text: string): void; err(text: string): void }

const usage = `usage: sched migrate --url URL [--dialect MODULE] [--schema NAME] [--prefix PREFIX] [--print]

  migrate   creates or updates the tables; with --print it prints the DDL and connects to nothing

exit codes: 0 done, 1 refused or failed, 2 unreachable, 64 usage
`
const leaseMs = 30_000
const reachMs = 10_000

/** The command. Returns the exit code; prints no credentials. */
export async function main(args: readonly string[], output: Output): Promise<number> {
  let values: { url?: string; dialect?: string; schema?: string; prefix?: string; print: boolean; help: boolean }
  try {
    const parsed = parseArgs({
      args: [...args], allowPositionals: true,
      options: { url: { type: 'string' }, dialect: { type: 'string' }, schema: { type: 'string' }, prefix: { type: 'string' }, print: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
    })
    values = parsed.values
    if (values.help) { output.out(usage); return 0 }
    if (parsed.positionals.length !== 1 || parsed.positionals[0] !== 'migrate' || values.url === undefined) { output.err(usage); return 64 }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    output.err(`${error.message}\n${usage}`)
    return 64
  }
  const url = values.url
  const tableOptions: TableOptions = { ...(values.schema === undefined ? {} : { schema: values.schema }), ...(values.prefix === undefined ? {} : { prefix: values.prefix }) }
  try {
    const dialect = await resolveDialect(url, values.dialect === undefined ? {} : { module: values.dialect })
    try {
      output.out(await migrateOrPrint(dialect, url, tableOptions, values.print))
      return 0
    } finally {
      await dialect.close()
    }
  } catch (error) {
    if (!isSchedError(error)) throw error
    output.err(`${redactSecrets(error.message, url)}\n`)
    return error.code === 'SCHED_DATABASE_UNREACHABLE' ? 2 : error.code.startsWith('SCHED_DIALECT') || error.code === 'SCHED_OPTION_INVALID' ? 64 : 1
  }
}

async function migrateOrPrint(dialect: Dialect, url: string, tableOptions: TableOptions, print: boolean): Promise<string> {
  const { store } = dialect
  if (store === undefined) return `the dialect ${dialect.name} keeps no tables.\n`
  const tables = tableNames(store.sql, tableOptions)
  if (print) return printSchema(store.sql, tables, tableOptions)
  const open = { leaseMs, label: sessionLabel('migrate'), tables }
  const { sharedSessions } = await reachDatabase('looking at the database', (signal) => store.probe({ ...open, signal }), { clock: systemClock, deadlineMs: reachMs, classify: (error) => store.classify(error), url })
  const session = schemaSession(store, { ...open, clock: systemClock, random: Math.random, url, sharedSessions })
  try {
    await migrate({ sql: store.sql, tables, tableOptions, session, clock: systemClock })
    return 'the tables are up to date.\n'
  } finally {
    session.close()
  }
}
