import { setTimeout as sleep } from 'node:timers/promises'

/** The first truthy answer, or a failure when one that was asked for after the time is none: a pause of this process is not held against it. */
export async function eventually<T>(ask: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const late = performance.now() > end
    const answer = await ask()
    if (answer) return answer
    if (late) throw new Error(`not true within ${timeoutMs} ms: ${ask.toString()}`)
    await sleep(10)
  }
}
