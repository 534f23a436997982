/** One run at a time, and one more for all who ask meanwhile: what they ask about may have changed since the run in hand has read it. */
export function coalesced(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  return function run(): Promise<void> {
    if (running === undefined) {
      running = work().finally(() => { running = undefined })
      return running
    }
    next ??= running.catch(() => undefined).then(() => {
      next = undefined
      return run()
    })
    return next
  }
}
