// `npm run test:containers [-- NAME…]`: the suites that need a Docker engine, each on the official images of its database. Prints its plan;
// where no engine answers it says so and runs nothing. SCHED_TEST_REQUIRE_CONTAINERS=1 turns that into a failure.
import { spawnSync } from 'node:child_process'
import { dockerObstacle } from './databases/src/docker-servers.ts'

interface Run { readonly name: string; readonly images: string; readonly filters: readonly string[]; readonly environment?: Readonly<Record<string, string>> }

const plan: readonly Run[] = [
  { name: 'postgres', images: 'postgres 13, 17, 18', filters: ['packages/dialect-postgres/test', 'packages/dialect-locktable/test'] },
  { name: 'mysql', images: 'mysql 9, mariadb 10.5, 11.8', filters: ['packages/dialect-mysql/test'] },
  { name: 'mysql-8.4', images: 'mysql 8.4', filters: ['packages/dialect-mysql/test'], environment: { SCHED_TEST_MYSQL_IMAGE: 'mysql:8.4' } },
  { name: 'sqlserver', images: 'mssql/server 2019, 2022, 2025', filters: ['packages/dialect-sqlserver/test/containers'] },
  { name: 'oracle', images: 'Oracle Free 23, XE 21', filters: ['packages/dialect-oracle/test/containers'] },
]

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !plan.some((run) => run.name === name))
if (unknown.length > 0) {
  console.error(`no container suite is called ${unknown.join(', ')}: expected ${plan.map(({ name }) => name).join(', ')}.`)
  process.exit(64)
}
const chosen = plan.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
for (const { name, images, filters } of chosen) console.log(`${name.padEnd(12)} ${images}: ${filters.join(', ')}`)

const obstacle = await dockerObstacle()
if (obstacle !== undefined) {
  console.log(`SKIPPED, all of it: ${obstacle}`)
  process.exitCode = process.env['SCHED_TEST_REQUIRE_CONTAINERS'] === '1' ? 1 : 0
} else {
  for (const { name, filters, environment } of chosen) {
    console.log(`=== ${name} ===`)
    const { status, error } = spawnSync(process.execPath, ['tools/test.ts', ...filters], {
      stdio: 'inherit', env: { ...process.env, ...environment, SCHED_TEST_CONTAINERS: '1', SCHED_TEST_SOURCES: 'environment,docker' },
    })
    if (error !== undefined) throw error
    if (status !== 0) process.exitCode = status ?? 1
  }
}
