import { resolveDialect } from '../dialect/resolve.ts'
import { SchedError, isSchedError } from '../errors.ts'
import type { Operations } from '../executor/operations.ts'
import type { ExecutionState } from '../ledger/execution-state.ts'
import { migrate, printSchema } from '../ledger/migrate.ts'
import { tableNames } from '../ledger/tables.ts'
import type { Dialect } from '../spi/dialect.ts'
import { redactSecrets } from '../spi/redact.ts'
import type { StoreDialect } from '../spi/store-dialect.ts'
import { systemClock } from '../time/clock.ts'
import { parseArguments, type Arguments } from './arguments.ts'
import { describeLock } from './describe-lock.ts'
import { usage } from './usage.ts'
import { withOperations, withSession } from './with-operations.ts'

export interface Output { out(text: string): void; err(text: string): void }

/** What a command has to say, and whether it did what it was asked. */
interface Answer {
  readonly value: unknown
  readonly text: string
  readonly done: boolean
  /** For a person who wonders; on standard error, so that no program reads it. */
  readonly note?: string
}

/** The `sched` command. Returns the exit code; prints no credentials. */
export async function main(args: readonly string[], output: Output): Promise<number> {
  const parsed = parseArguments(args)
  if ('help' in parsed) { output.out(usage); return 0 }
  if ('fault' in parsed) { output.err(`sched: ${parsed.fault}\n\n${usage}`); return 64 }
  try {
    const dialect = await resolveDialect(parsed.url, parsed.dialect === undefined ? {} : { module: parsed.dialect })
    try {
      if (dialect.store === undefined) throw new SchedError('SCHED_CAPABILITY_MISSING', `the dialect ${dialect.name} keeps no ledger.`)
      const answer = await run(dialect, dialect.store, parsed)
      output.out(parsed.json ? `${JSON.stringify(answer.value)}\n` : answer.text)
      if (answer.note !== undefined) output.err(`sched: ${answer.note}\n`)
      return answer.done ? 0 : 1
    } finally {
      await dialect.close()
    }
  } catch (error) {
    if (!isSchedError(error)) throw error
    output.err(`${redactSecrets(error.message, parsed.url)}\n`)
    if (error.code === 'SCHED_DATABASE_UNREACHABLE') return 2
    return /^SCHED_(DIALECT|OPTION|CRON|TIME_ZONE|NAMESPACE)/.test(error.code) ? 64 : 1
  }
}

async function run(dialect: Dialect, store: StoreDialect, parsed: Arguments): Promise<Answer> {
  if (parsed.command !== 'migrate') return withOperations(store, dialect.locks, parsed, (operations, namespace) => operate(operations, namespace, parsed))
  if (parsed.print) {
    const ddl = printSchema(store.sql, tableNames(store.sql, parsed.tables), parsed.tables)
    return { value: ddl, text: ddl, done: true }
  }
  await withSession(store, parsed, ({ session, tables }) => migrate({ sql: store.sql, tables, tableOptions: parsed.tables, session, clock: systemClock }))
  return { value: true, text: 'the tables are up to date.\n', done: true }
}

async function operate(operations: Operations, namespace: string, { command, words, reason, key, state, limit, timeZone, clear }: Arguments): Promise<Answer> {
  const [first = '', second = ''] = words
  const changed = (done: boolean, text: string, otherwise: string): Answer => ({ value: done, text: `${done ? text : otherwise}\n`, done })
  switch (command) {
    case 'pause': return changed(await operations.pause(first, reason === undefined ? {} : { reason }), `${first} is paused.`, `${first} is not active.`)
    case 'resume': return changed(await operations.resume(first), `${first} is active.`, `${first} is neither paused nor stalled.`)
    case 'cancel': {
      const outcome = await operations.cancel(first)
      return { value: outcome, text: `${outcome}\n`, done: outcome === 'cancelled' || outcome === 'requested' }
    }
    case 'retry': {
      const outcome = await operations.retry(first)
      return { value: outcome, text: `${outcome}\n`, done: outcome === 'retried' }
    }
    case 'trigger': {
      const triggered = await operations.trigger(first, key === undefined ? {} : { key })
      return { value: triggered, text: `${triggered.executionId}${triggered.created ? '' : ' (there already)'}\n`, done: true }
    }
    case 'reschedule':
      await operations.reschedule(first, clear ? null : { cron: second, timeZone })
      return { value: true, text: clear ? `${first} follows its code again.\n` : `${first} follows ${second} until it is cleared.\n`, done: true }
    case 'explain': {
      const explanation = await operations.explain(first, new Date(second))
      const { verdict, text } = explanation
      return { value: explanation, text: text.startsWith(verdict) ? `${text}\n` : `${verdict}: ${text}\n`, done: true }
    }
    case 'tasks': {
      const tasks = await operations.tasks()
      const text = tasks.map((task) => `${task.name}\t${task.state}${task.reason === null ? '' : ` (${task.reason})`}${task.overridden ? '\tschedule set by hand' : ''}\n`).join('')
      return { value: tasks, done: true, text, ...(tasks.length > 0 ? {} : { note: `no tasks in the namespace ${namespace}.` }) }
    }
    case 'executions': {
      const filter = { ...(first === '' ? {} : { task: first }), ...(state === undefined ? {} : { state: state as ExecutionState }), ...(limit === undefined ? {} : { limit }) }
      const executions = await operations.executions(filter)
      return { value: executions, done: true, text: executions.map((row) => `${new Date(row.fireTime).toISOString()}\t${row.task}\t${row.state}\t${row.errorCode ?? ''}\t${row.executionId}\n`).join('') }
    }
    case 'locks': {
      const locks = await operations.locks(first === '' ? undefined : first)
      return { value: locks, done: true, text: locks.map(describeLock).join('') }
    }
    case 'migrate': throw new RangeError('migrate is no operation')
  }
}
