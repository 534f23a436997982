/**
 * `work`, or a rejection with the signal's reason, whichever is first: for dialects whose driver knows no AbortSignal.
 * `abandon` gets the work that nobody waits for any more; what it opens late is to be destroyed there.
 */
export async function orAborted<T>(signal: AbortSignal, work: Promise<T>, abandon?: (late: Promise<T>) => void): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => {
    reject(signal.reason as Error)
    abandon?.(work)
  }
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
