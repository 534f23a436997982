import { createHash } from 'node:crypto'
import type { ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The core's tests start dozens of processes, those of the dialects mostly wait for a server: side by side they leave the machine time for
 * leases of two seconds. The endurance runs are set apart from each other for the same reason, and neighbours are drawn by lot: by size, as usual,
 * all that is heavy would come first. What keeps the processor busy for minutes comes last, when nobody waits for a lease any more.
 */
class Mixed extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kindOf = ({ moduleId, project }: TestSpecification): string => /\/test\/(endurance|simulation)\//.exec(moduleId)?.[1] ?? (project.name === '@sched/core' ? 'core' : 'dialects')
    const { endurance = [], simulation = [], core = [], dialects = [] } = Object.groupBy(byLot(files), kindOf)
    return Promise.resolve([...spread(spread(endurance, core), dialects), ...simulation])
  }
}

/** The same lot each time, on every machine. */
function byLot(files: readonly TestSpecification[]): TestSpecification[] {
  const lotOf = ({ moduleId }: TestSpecification): string => createHash('sha256').update(moduleId.slice(import.meta.dirname.length)).digest('hex')
  return files.map((file) => ({ file, lot: lotOf(file) })).sort((a, b) => (a.lot < b.lot ? -1 : 1)).map(({ file }) => file)
}

/** Two lists as one, each evenly over the whole length. */
function spread<T>(one: readonly T[], other: readonly T[]): T[] {
  const placed = [one, other].flatMap((list) => list.map((item, index) => ({ item, place: index / list.length })))
  return placed.sort((a, b) => a.place - b.place).map(({ item }) => item)
}

const config: ViteUserConfig = {
  test: {
    projects: ['packages/*', 'tools/databases'],
    allowOnly: false,
    reporters: ['default'],
    sequence: { sequencer: Mixed },
    // A cache of modules outlives an install that moved them.
    fsModuleCache: false,
  },
}
export default config
