import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: {
    projects: ['packages/*', 'tools/databases'],
    allowOnly: false,
    reporters: ['default'],
    // Nearly all of the time is spent waiting for leases to run out: two files at once leave two cores idle.
    maxWorkers: 4,
    // A cache of modules outlives an install that moved them.
    fsModuleCache: false,
  },
}
export default config
