import { createConnection, type RowDataPacket } from 'mysql2/promise'

export type Query = (statement: string) => Promise<RowDataPacket[]>

export function isMysqlUrl(url: string): boolean { return /^(mysql|mariadb):/.test(url) }

/** Runs `work` on a connection of its own to this MySQL or MariaDB. */
export async function withMysql<T>(url: string, work: (query: Query) => Promise<T>): Promise<T> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const connection = await createConnection({
    host: hostname, port: Number(port || 3306), user: decodeURIComponent(username), password: decodeURIComponent(password), database: pathname.slice(1), connectTimeout: 5_000,
  })
  // A connection that breaks between statements is reported here; the next statement then fails by itself.
  connection.on('error', () => {})
  try {
    return await work(async (statement) => (await connection.query<RowDataPacket[]>(statement))[0])
  } finally {
    connection.destroy()
  }
}
