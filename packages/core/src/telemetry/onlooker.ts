const onlookers = new WeakSet<object>()

/**
 * Marks a listener as one that only looks on. A scheduler whose `error` and `warning` events are heard by onlookers alone still turns them into
 * process warnings: counting an error is not handling it.
 */
export function onlooker<L extends (event: never) => void>(listener: L): L {
  onlookers.add(listener)
  return listener
}

export function isOnlooker(listener: object): boolean { return onlookers.has(listener) }
