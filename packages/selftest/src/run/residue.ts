import type { Scene } from './scene.ts'
import type { Stage } from './stage.ts'
import { sleep } from './timing.ts'

// A server notices the end of a session when it next looks at the socket; one that waits for a lock looks when the wait ends.
const residueBoundMs = 8_000
// Of a case that has failed already it is only told what is left.
const failedBoundMs = 300

/** What is still there of a case once it has given everything back: nothing, or the case fails. */
export async function residueOf(scene: Scene, stage: Stage, hasFailed: boolean): Promise<readonly string[]> {
  const boundMs = hasFailed ? failedBoundMs : residueBoundMs
  const problems = [...await stage.belongings.giveBack()]
  if (!scene.facts.diagnostics) return [...problems, ...stage.belongings.destroyConnections()]
  const labels = stage.belongings.usesLibrary ? [stage.label, stage.libraryLabel] : [stage.label]
  for (const label of labels) {
    const left = await untilNone(boundMs, () => stage.lockCount(label), (count) => count)
    if (left > 0) problems.push(`residue: ${left} lock${left === 1 ? '' : 's'} of ${label} left after everything was released`)
  }
  problems.push(...stage.belongings.destroyConnections())
  if (!scene.facts.serverSessions) return problems
  for (const label of labels) {
    const left = await untilNone(boundMs, () => stage.sessions(label), (ids) => ids.length)
    if (left.length > 0) problems.push(`residue: session${left.length === 1 ? '' : 's'} ${left.join(', ')} of ${label} left after every connection was destroyed`)
  }
  return problems
}

async function untilNone<T>(boundMs: number, look: () => Promise<T>, size: (found: T) => number): Promise<T> {
  const givesUpAt = performance.now() + boundMs
  for (;;) {
    const found = await look()
    if (size(found) === 0 || performance.now() > givesUpAt) return found
    await sleep(25)
  }
}
