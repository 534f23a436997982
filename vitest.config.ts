import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: {
    projects: ['packages/*', 'tools/databases'],
    allowOnly: false,
    reporters: ['default'],
    // A cache of modules outlives an install that moved them.
    fsModuleCache: false,
  },
}
export default config
