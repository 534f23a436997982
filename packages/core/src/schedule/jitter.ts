import { createHash } from 'node:crypto'

/**
 * How much later than its fire time a task is due: from 0 up to, not including, `maxMs`, in whole milliseconds. The same for a name on every node and after
 * every restart; different names spread evenly. The fire time itself, which identifies the slot, does not move.
 *
 * @param maxMs - milliseconds; 0 for none
 */
export function jitterMs(taskName: string, maxMs: number): number {
  if (!(maxMs > 0)) return 0
  return Math.floor((createHash('sha256').update(taskName).digest().readUIntBE(0, 6) / 2 ** 48) * maxMs)
}
