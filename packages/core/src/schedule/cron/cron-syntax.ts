import { SchedError } from '../../errors.ts'

/** One thing wrong with an expression, where it stands and how to put it right. */
export interface SyntaxFault {
  /** The field's name as people say it, e.g. `day of month`. */
  readonly field: string
  /** Where the wrong text begins, counted in characters from 0. */
  readonly offset: number
  readonly found: string
  readonly expected: string
  readonly remedy?: string
}

export function cronSyntaxError(expression: string, fault: SyntaxFault): SchedError {
  const { field, offset, found, expected, remedy } = fault
  const position = offset + 1
  const message = `the ${field} of the cron expression ${quote(expression)} is wrong at character ${position}: found ${quote(found)}, expected ${expected}.`
  return new SchedError('SCHED_CRON_SYNTAX', message, {
    ...(remedy === undefined ? {} : { remedy }),
    details: { expression: shorten(expression), field, position, found: shorten(found), expected },
  })
}

/** The text in quotes, shortened: an error must stay readable when somebody passes 40 kB. */
export function quote(text: string): string {
  return JSON.stringify(shorten(text))
}

export function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`
}

/** The error for an expression that is well formed and has no fire time at all. */
export function cronNeverError(expression: string, why: string, remedy: string): SchedError {
  return new SchedError('SCHED_CRON_NEVER', `the cron expression ${quote(expression)} never fires: ${why}.`, { remedy, details: { expression: shorten(expression) } })
}
