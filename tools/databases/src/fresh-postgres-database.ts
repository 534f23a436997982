import { Client } from 'pg'

export async function createPostgresDatabase(serverUrl: string, name: string): Promise<void> {
  // template0: nobody can be connected to it, which would make the copy fail.
  await withClient(serverUrl, (client) => client.query(`create database ${name} template template0`))
}

export async function dropPostgresDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
}

export async function postgresDatabases(serverUrl: string, prefix: string): Promise<string[]> {
  const { rows } = await withClient(serverUrl, (client) => client.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1)', [prefix]))
  return rows.map(({ datname }) => datname)
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  // A connection that breaks between statements is reported here; the next statement then fails by itself.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
