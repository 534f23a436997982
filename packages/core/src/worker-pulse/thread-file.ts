import { createRequire } from 'node:module'
import { SchedError } from '../errors.ts'

const entry = '@sched/core/pulse-thread'

/**
 * The file that the worker thread runs, by this package's own exports: the build may move the code that asks into a chunk.
 * @throws SchedError SCHED_OPTION_INVALID where the package is not on disk as it was published
 */
export function threadFile(): string {
  try {
    return createRequire(import.meta.url).resolve(entry)
  } catch (cause) {
    throw new SchedError('SCHED_OPTION_INVALID', `pulse is "worker", but ${entry}, which the thread runs, was not found.`, {
      cause, remedy: `When the application is bundled, keep @sched/core external; or choose pulse: 'main'.`,
    })
  }
}
