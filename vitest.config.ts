import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: { projects: ['packages/*', 'tools/databases'], allowOnly: false, reporters: ['default'] },
}
export default config
