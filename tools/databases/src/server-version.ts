import { Client } from 'pg'
import { isMysqlUrl, withMysql } from './mysql-connection.ts'

/** What the server says it is, in a few words; for a PgBouncer also what stands behind it. */
export async function serverVersion(url: string): Promise<string> {
  return isMysqlUrl(url) ? await mysqlVersion(url) : await postgresVersion(url)
}

async function mysqlVersion(url: string): Promise<string> {
  return await withMysql(url, async (query) => {
    const settings = new Map((await query("show variables where variable_name in ('version', 'wsrep_on')")).map((row) => [row['Variable_name'], String(row['Value'])]))
    const version = settings.get('version') ?? 'unknown'
    const product = version.includes('MariaDB') ? 'MariaDB' : 'MySQL'
    return `${product} ${version.replace(/-.*/, '')}${settings.get('wsrep_on') === 'ON' ? ', a node of a Galera cluster' : ''}`
  })
}

async function postgresVersion(url: string): Promise<string> {
  const version = `PostgreSQL ${await ask(url, 'show server_version', 'server_version')}`
  const console = new URL(url)
  console.pathname = '/pgbouncer'
  try {
    return `${await ask(console.href, 'show version', 'version')} in front of ${version}`
  } catch {
    return version   // only PgBouncer has a database of that name that answers this
  }
}

async function ask(url: string, statement: string, column: string): Promise<string> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
  client.on('error', () => {})   // reported by the query
  try {
    await client.connect()
    const { rows } = await client.query<Record<string, string>>(statement)
    return (rows[0]?.[column] ?? 'unknown').replace(/ \(.*\)$/, '')
  } finally {
    await client.end()
  }
}
