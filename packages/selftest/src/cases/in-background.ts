/** Lets work go on beside the case, which awaits it later: its failure is nobody's until then, and must not end the process. */
export function inBackground<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  return work
}
