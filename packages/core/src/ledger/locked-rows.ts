import { errorClassOf } from '../session/classified-error.ts'
import { batches } from './batches.ts'

const batch = 100
// Each costs a row-lock limit on the only store session. As many mean a locked table, and that is an error.
const mostLocked = 10

/** A row-lock timeout is an answer here: somebody's open transaction holds the row. */
export async function unlessLocked<T>(work: () => Promise<T>): Promise<T | 'locked'> {
  try {
    return await work()
  } catch (error) {
    if (errorClassOf(error) === 'lock-timeout') return 'locked'
    throw error
  }
}

/**
 * Changes rows a hundred at a time; where somebody holds one of them, one by one without those that are held. `change` must not wait
 * again for a locked row.
 */
export async function aroundLocked<T>(rows: readonly T[], change: (some: readonly T[]) => Promise<unknown>): Promise<void> {
  let locked = 0
  for (const some of batches(rows, batch)) {
    if (await unlessLocked(() => change(some)) !== 'locked') continue
    for (const row of some) {
      if (locked >= mostLocked) await change([row])
      else if (await unlessLocked(() => change([row])) === 'locked') locked += 1
    }
  }
}
