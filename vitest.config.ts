import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: {
    projects: ['packages/*', 'tools/databases'],
    allowOnly: false,
    reporters: ['default'],
    // Most files wait for leases to run out; with more at once on two cores the bounds on takeovers would measure the machine.
    maxWorkers: 2,
    // A cache of modules outlives an install that moved them.
    fsModuleCache: false,
  },
}
export default config
