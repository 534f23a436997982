import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import perfHooks from 'node:perf_hooks'
import { SeededRandom } from '../schedule/seeded-random.ts'

// What the code under test asks of its host beside the clock. A seed must decide that too, or a failure could not be run again.
const mutable = { crypto: crypto as { randomUUID: () => string }, perfHooks: perfHooks as { monitorEventLoopDelay: unknown } }

/** Random ids drawn from a seed, and an event loop that is never late, until the result is called. */
export function seedHost(seed: number): () => void {
  const { randomUUID } = mutable.crypto
  const { monitorEventLoopDelay } = mutable.perfHooks
  const random = new SeededRandom(seed ^ 0x5eed)
  const hex = (digits: number): string => Math.floor(random.next() * 16 ** digits).toString(16).padStart(digits, '0')
  mutable.crypto.randomUUID = () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(8)}${hex(4)}`
  // Killed nodes never disable theirs: thousands of real timers would be left.
  mutable.perfHooks.monitorEventLoopDelay = () => ({ enable: () => true, disable: () => true, reset: () => undefined, percentile: () => 0, count: 0, mean: 0, max: 0 })
  syncBuiltinESMExports()
  return () => {
    mutable.crypto.randomUUID = randomUUID
    mutable.perfHooks.monitorEventLoopDelay = monitorEventLoopDelay
    syncBuiltinESMExports()
  }
}
