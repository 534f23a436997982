import { randomBytes } from 'node:crypto'
import { dockerObstacle } from '../../../../tools/databases/src/docker-servers.ts'
import { openStore } from '../support/scene.ts'
import { sqlserver } from '../../src/index.ts'

export type SqlServerImage = '2019-latest' | '2022-latest' | '2025-latest'

/** They are large, so nothing of the kind is pulled by a plain `npm test`. */
const wanted = process.env['SCHED_TEST_CONTAINERS'] === '1'

/** Why these tests do not run here, or undefined. */
export async function containersObstacle(): Promise<string | undefined> {
  return wanted ? dockerObstacle() : 'SCHED_TEST_CONTAINERS is not 1'
}

export interface SqlServerContainer extends AsyncDisposable { readonly url: string }

/** A server in its official image (https://learn.microsoft.com/sql/linux/quickstart-install-connect-docker), with an empty database of its own. */
export async function startSqlServer(image: SqlServerImage): Promise<SqlServerContainer> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const password = `Aa1-${randomBytes(12).toString('hex')}`
  const container = await new GenericContainer(`mcr.microsoft.com/mssql/server:${image}`)
    .withEnvironment({ ACCEPT_EULA: 'Y', MSSQL_SA_PASSWORD: password, MSSQL_PID: 'Developer' })
    .withExposedPorts(1433)
    .withWaitStrategy(Wait.forLogMessage(/Recovery is complete/))
    .withStartupTimeout(180_000)
    .start()
  const urlOf = (database: string): string => `sqlserver://sa:${password}@${container.getHost()}:${container.getMappedPort(1433)}/${database}?encrypt=true&trustServerCertificate=true`
  const dialect = sqlserver({ url: urlOf('master') })
  const session = await openStore(dialect, 'transaction', { statementMs: 60_000 })
  await session.run({ text: 'CREATE DATABASE [sched_test]', params: [] })
  session.destroy()
  return {
    url: urlOf('sched_test'),
    async [Symbol.asyncDispose]() { await container.stop() },
  }
}
