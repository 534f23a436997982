import type { ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The core's tests start dozens of processes, those of the dialects mostly wait for a server: side by side they leave the machine time for
 * leases of two seconds. The endurance runs are set apart from each other for the same reason. What keeps the processor busy for minutes comes
 * last, when nobody waits for a lease any more.
 */
class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kindOf = ({ moduleId, project }: TestSpecification): string => /\/test\/(endurance|simulation)\//.exec(moduleId)?.[1] ?? (project.name === '@sched/core' ? 'core' : 'dialects')
    const { endurance = [], simulation = [], core = [], dialects = [] } = Object.groupBy(await super.sort(files), kindOf)
    return [...spread(spread(endurance, core), dialects), ...simulation]
  }
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
