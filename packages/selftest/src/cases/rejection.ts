import { isSchedError } from '@sched/core/spi'

/** The code of what a promise rejects with; its message where it has none, and `resolved` when it does not reject. */
export async function rejection(work: Promise<unknown>): Promise<string> {
  try { await work } catch (error) {
    return isSchedError(error) ? error.code : error instanceof Error ? error.message : String(error)
  }
  return 'resolved'
}
