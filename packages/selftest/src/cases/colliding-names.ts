import type { LockName } from '@sched/core/spi'
import type { CaseContext } from '../case-context.ts'

/**
 * Two names whose digests agree in the four bytes at `offset`. Some 80,000 names are enough on average (the birthday paradox), a
 * fraction of a second; a million do it as good as always.
 */
export function collidingNames(context: CaseContext, offset: number): readonly [LockName, LockName] {
  const seen = new Map<number, number>()
  for (let index = 0; index < 1_000_000; index += 1) {
    const name = context.exactName(`collision-${index}`)
    const bits = new DataView(name.digest.buffer, name.digest.byteOffset, name.digest.byteLength).getUint32(offset)
    const twin = seen.get(bits)
    if (twin !== undefined) return [context.exactName(`collision-${twin}`), name]
    seen.set(bits, index)
  }
  throw new Error('no two of a million names agree in 32 bits of their digests')
}
