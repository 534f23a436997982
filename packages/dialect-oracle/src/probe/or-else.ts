import type { ErrorClass } from '@sched/core/spi'
import { classifyOracle } from '../errors/classify.ts'

/** The answer, or `fallback` when the server refused it for one of these reasons. Everything else is thrown. */
export async function orElse<T>(reasons: readonly ErrorClass[], work: () => Promise<T>, fallback: T): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (reasons.includes(classifyOracle(error))) return fallback
    throw error
  }
}
