import { setTimeout as sleep } from 'node:timers/promises'
import { transient, type ErrorClass } from '@sched/core/spi'

/** What the core does: contention is tried again, with a pause of random length, for as long as `withinMs`. */
export async function persistent<T>(classify: (error: unknown) => ErrorClass, work: () => Promise<T>, withinMs = 10_000): Promise<{ value: T; tries: number }> {
  const givesUpAt = performance.now() + withinMs
  for (let tries = 1; ; tries += 1) {
    try {
      return { value: await work(), tries }
    } catch (error) {
      if (!transient.has(classify(error)) || performance.now() > givesUpAt) throw error
      await sleep(Math.ceil(Math.random() * Math.min(2 ** tries, 50)))
    }
  }
}
