import { transient, type LockSource } from '@sched/core/spi'
import { sleep } from './timing.ts'

const boundMs = 8_000

/**
 * Retries what the server calls transient (a busy writer, a deadlock), as the core does: a case is about the answer, not about
 * how often it took. Anything else is thrown on.
 */
export async function persistent<T>(source: LockSource, work: () => Promise<T>): Promise<T> {
  const givesUpAt = performance.now() + boundMs
  for (;;) {
    try { return await work() } catch (error) {
      if (!transient.has(source.classify(error)) || performance.now() > givesUpAt) throw error
      await sleep(5 + Math.random() * 20)
    }
  }
}
