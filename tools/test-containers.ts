// `npm run test:containers`: the suites that need a Docker engine: the official images of every database, each with its own conformance
// run. Where no engine answers, each says so and is skipped; nothing is provisioned locally.
import { spawnSync } from 'node:child_process'

const filters = process.argv.slice(2)
const { status, error } = spawnSync(process.execPath, ['tools/test.ts', ...(filters.length > 0 ? filters : ['containers', 'conformance'])], {
  stdio: 'inherit', env: { ...process.env, SCHED_TEST_CONTAINERS: '1', SCHED_TEST_SOURCES: 'environment,docker' },
})
if (error !== undefined) throw error
process.exitCode = status ?? 1
