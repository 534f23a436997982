import { setTimeout as delay } from 'node:timers/promises'

export const sleep = (delayMs: number): Promise<void> => delay(Math.max(0, Math.ceil(delayMs)))

/** Rejects with `late()` when the work has not ended in time. The work goes on: the caller makes that harmless. */
export async function within<T>(work: Promise<T>, limitMs: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => { timer = setTimeout(() => reject(late()), limitMs) })
  try { return await Promise.race([work, limit]) } finally { clearTimeout(timer) }
}

export async function timed<T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number }> {
  const startedAt = performance.now()
  const result = await work()
  return { result, tookMs: performance.now() - startedAt }
}
