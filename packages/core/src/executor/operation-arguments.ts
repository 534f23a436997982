import { SchedError } from '../errors.ts'
import { transitions } from '../ledger/execution-state.ts'
import type { ExecutionFilter } from '../ledger/list.ts'
import { nameFault } from '../spi/lock-name.ts'

// What callers without types hand over must not reach a statement. All of these throw SCHED_OPTION_INVALID.

const longestReason = 1000
/** What is listed is held in memory: one page. */
const longestPage = 10_000

function reject(name: string, value: unknown, expected: string): never {
  throw new SchedError('SCHED_OPTION_INVALID', `${name} is ${typeof value === 'function' ? 'a function' : JSON.stringify(value) ?? String(value)}, expected ${expected}.`)
}

/** The name of a task, or the id of an execution. */
export function checkName(option: 'task' | 'executionId', value: unknown): void {
  const fault = nameFault(value)
  if (fault !== undefined) reject(option, value, `a string of 1 to 255 Unicode characters without NUL; this one ${fault}`)
}

export function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) reject('the options argument', options, 'an object or nothing')
}

export function checkReason(reason: unknown): void {
  if (reason === undefined) return
  if (typeof reason !== 'string' || reason === '' || [...reason].length > longestReason || reason.includes('\0') || !reason.isWellFormed()) reject('reason', reason, `a text of 1 to ${longestReason} Unicode characters without NUL`)
}

export function checkKey(key: unknown): void {
  if (key !== undefined && (typeof key !== 'string' || key === '')) reject('key', key, 'a string of at least one character')
}

export function checkTime(time: unknown): void {
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) reject('time', time instanceof Date ? String(time) : time, 'a valid Date')
}

export function checkDefinition(definition: unknown): void {
  if (typeof definition !== 'object') reject('schedule', definition, 'an object with cron or everyMs, or null to follow the code again')
}

export function checkFilter(filter: unknown): void {
  checkOptions(filter)
  const { task, state, limit, after } = filter as ExecutionFilter
  if (task !== undefined) checkName('task', task)
  const states = Object.keys(transitions).filter((known) => known !== 'new')
  if (state !== undefined && !states.includes(state)) reject('state', state, states.map((known) => `'${known}'`).join(', '))
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= longestPage)) reject('limit', limit, `a whole number from 1 to ${longestPage}`)
  if (after === undefined) return
  if (typeof after !== 'object' || (after as unknown) === null || !Number.isSafeInteger(after.fireTime) || nameFault(after.executionId) !== undefined) reject('after', after, 'the last record of the page before')
}
