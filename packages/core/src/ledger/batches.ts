/** What goes into one statement each. */
export function* batches<T>(values: readonly T[], size: number): Iterable<readonly T[]> {
  for (let first = 0; first < values.length; first += size) yield values.slice(first, first + size)
}
