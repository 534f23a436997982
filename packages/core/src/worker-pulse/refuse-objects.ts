import { SchedError } from '../errors.ts'
import type { SchedulerOptions } from '../executor/scheduler-options.ts'

/** What lives in one thread cannot be handed to another. @throws SchedError SCHED_OPTION_INVALID */
export function refuseObjects<TClient>({ dialect, locks, clock }: SchedulerOptions<TClient>): void {
  const refuse = (option: string, why: string, remedy: string): never => {
    throw new SchedError('SCHED_OPTION_INVALID', `pulse is "worker", and ${option} cannot be used with it: ${why}.`, { remedy: `${remedy}, or choose pulse: 'main'.` })
  }
  if (dialect !== undefined) refuse('dialect', 'a dialect and its pool cannot cross to another thread', 'Name the database by url, which the thread opens for itself')
  if (locks !== undefined) refuse('locks', 'a lock source cannot cross to another thread', 'Leave it out, so that the veto locks come from the database of the url')
  if (clock !== undefined) refuse('clock', 'both threads must read the same one', 'Leave it out')
}
