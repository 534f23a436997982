/** The servers that tests know by name. A later database adds rows here, a start function in servers/ and, where there is an official image, a container. */
export type ServerName = 'postgres' | 'postgres-middle' | 'postgres-oldest' | 'pgbouncer-transaction' | 'pgbouncer-session'
  | 'mysql' | 'mariadb' | 'mariadb-oldest' | 'galera-1' | 'galera-2'

export interface ServerRow {
  readonly name: ServerName
  /** The environment variable that holds its URL. */
  readonly variable: string
  /** How it is asked for its version, and what `freshDatabase` can do with it. */
  readonly protocol: 'postgres' | 'mysql'
  /** Stands between the client and another server. */
  readonly proxy: boolean
  /** Official image for Docker; without one it is started locally or not at all. */
  readonly image?: string
}

/** `SCHED_TEST_MYSQL_IMAGE=mysql:8.4` and the like put another version in the place of a row's image. */
const row = (name: ServerName, { image, ...more }: Omit<ServerRow, 'name' | 'variable'>): ServerRow => {
  const chosen = image === undefined ? undefined : process.env[`SCHED_TEST_${environmentName(name)}_IMAGE`] ?? image
  return { name, variable: `SCHED_TEST_${environmentName(name)}_URL`, ...(chosen === undefined ? {} : { image: chosen }), ...more }
}

export const serverTable: readonly ServerRow[] = [
  row('postgres', { protocol: 'postgres', proxy: false, image: 'postgres:18' }),
  row('postgres-middle', { protocol: 'postgres', proxy: false, image: 'postgres:17' }),
  row('postgres-oldest', { protocol: 'postgres', proxy: false, image: 'postgres:13' }),
  row('pgbouncer-transaction', { protocol: 'postgres', proxy: true }),
  row('pgbouncer-session', { protocol: 'postgres', proxy: true }),
  row('mysql', { protocol: 'mysql', proxy: false, image: 'mysql:9' }),
  row('mariadb', { protocol: 'mysql', proxy: false, image: 'mariadb:11.8' }),
  row('mariadb-oldest', { protocol: 'mysql', proxy: false, image: 'mariadb:10.5' }),
  row('galera-1', { protocol: 'mysql', proxy: false }),
  row('galera-2', { protocol: 'mysql', proxy: false }),
]

export function serverRow(name: ServerName): ServerRow {
  const found = serverTable.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`no server is called ${name}`)
  return found
}

/** Where `npm test` leaves the reason why a server is missing, for the titles of skipped suites. */
export const missingVariable = (name: string): string => `SCHED_TEST_${environmentName(name)}_MISSING`

function environmentName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
