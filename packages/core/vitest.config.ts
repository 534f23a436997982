import type { ViteUserConfig } from 'vitest/config'

// Most tests here wait for servers, processes or a disk that other tests use as well. These limits are for what hangs; what is to be quick says so itself.
const config: ViteUserConfig = { test: { testTimeout: 30_000, hookTimeout: 60_000 } }
export default config
