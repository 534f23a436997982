import { withMysql } from './mysql-connection.ts'

export async function createMysqlDatabase(serverUrl: string, name: string): Promise<void> {
  await withMysql(serverUrl, (query) => query(`create database ${name}`))
}

export async function dropMysqlDatabase(serverUrl: string, name: string): Promise<void> {
  await withMysql(serverUrl, async (query) => {
    // An open transaction of a session in it would make the drop wait.
    const sessions = await query(`select id from information_schema.processlist where db = '${name}'`)
    for (const { id, ID = id as unknown } of sessions) {
      await query(`kill ${Number(ID)}`).catch((error: unknown) => {
        if ((error as { errno?: number }).errno !== 1094) throw error // it has ended by itself
      })
    }
    await query(`drop database if exists ${name}`)
  })
}

export async function mysqlDatabases(serverUrl: string, prefix: string): Promise<string[]> {
  const rows = await withMysql(serverUrl, (query) => query('select schema_name as name from information_schema.schemata'))
  return rows.map(({ name }) => String(name)).filter((name) => name.startsWith(prefix))
}
