import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  test: { projects: ['packages/*'], allowOnly: false, reporters: ['default'] },
}
export default config
