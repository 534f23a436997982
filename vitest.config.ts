import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: {
    projects: ['packages/*', 'tools/databases'],
    allowOnly: false,
    reporters: ['default'],
    // Most files wait for leases to run out: one more than a small machine has cores.
    maxWorkers: 3,
    // A cache of modules outlives an install that moved them.
    fsModuleCache: false,
  },
}
export default config
