import { randomBytes } from 'node:crypto'
import oracledb from 'oracledb'
import { dockerObstacle } from '../../../../tools/databases/src/docker-servers.ts'

/** Images of the community (https://github.com/gvenzl/oci-oracle-free, …/oci-oracle-xe), and the pluggable database each comes with. */
export const images = { 'gvenzl/oracle-free:23-slim-faststart': 'FREEPDB1', 'gvenzl/oracle-xe:21-slim-faststart': 'XEPDB1' } as const
export type OracleImage = keyof typeof images

/** They are large, so nothing of the kind is pulled by a plain `npm test`. */
const wanted = process.env['SCHED_TEST_CONTAINERS'] === '1'

/** Why these tests do not run here, or undefined. */
export async function containersObstacle(): Promise<string | undefined> {
  return wanted ? dockerObstacle() : 'SCHED_TEST_CONTAINERS is not 1'
}

export interface OracleContainer extends AsyncDisposable {
  readonly url: string
  /** The same for an account without any grant. */
  readonly plainUrl: string
}

/** A database with two users: one with the grants that the README asks for, one that may only have tables. */
export async function startOracle(image: OracleImage): Promise<OracleContainer> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const password = `Aa1${randomBytes(12).toString('hex')}`
  const container = await new GenericContainer(image)
    .withEnvironment({ ORACLE_PASSWORD: password, APP_USER: 'app', APP_USER_PASSWORD: password })
    .withExposedPorts(1521)
    .withWaitStrategy(Wait.forLogMessage('DATABASE IS READY TO USE!'))
    .withStartupTimeout(300_000)
    .start()
  const address = `${container.getHost()}:${container.getMappedPort(1521)}/${images[image]}`
  const admin = await oracledb.getConnection({ user: 'sys', password, connectString: address, privilege: oracledb.SYSDBA })
  for (const statement of [
    'GRANT EXECUTE ON SYS.DBMS_LOCK TO app', 'GRANT SELECT ON SYS.GV_$LOCK TO app', 'GRANT SELECT ON SYS.GV_$SESSION TO app', 'GRANT ALTER SYSTEM TO app',
    `CREATE USER plain IDENTIFIED BY "${password}" QUOTA UNLIMITED ON users`, 'GRANT CREATE SESSION, CREATE TABLE TO plain',
  ]) await admin.execute(statement)
  await admin.close()
  return {
    url: `oracle://app:${password}@${address}`, plainUrl: `oracle://plain:${password}@${address}`,
    async [Symbol.asyncDispose]() { await container.stop() },
  }
}
