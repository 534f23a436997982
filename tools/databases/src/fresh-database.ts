import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

const prefix = 'sched_test_'

export interface FreshDatabase extends AsyncDisposable {
  readonly name: string
  readonly url: string
  /** Drops it, ending the sessions that are still in it. Idempotent. */
  drop(): Promise<void>
}

/** An empty database of its own on this PostgreSQL server (or behind this PgBouncer), so that test files never see each other's tables. */
export async function freshDatabase(serverUrl: string): Promise<FreshDatabase> {
  // The time in the name lets `dropStaleDatabases` see what a killed run has left behind.
  const name = `${prefix}${Date.now()}_${randomBytes(4).toString('hex')}`
  // template0: nobody can be connected to it, which would make the copy fail.
  await run(serverUrl, `create database ${name} template template0`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const drop = async (): Promise<void> => { await run(serverUrl, `drop database if exists ${name} with (force)`) }
  return { name, url: url.href, drop, [Symbol.asyncDispose]: drop }
}

/** Drops databases of `freshDatabase` that are older than this; returns how many there were. */
export async function dropStaleDatabases(serverUrl: string, olderThanMs: number): Promise<number> {
  const client = await connect(serverUrl)
  try {
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1)', [prefix])
    const stale = rows.map(({ datname }) => datname).filter((name) => {
      const createdAt = Number(name.slice(prefix.length).split('_')[0])
      return /^\w+$/.test(name) && Date.now() - createdAt > olderThanMs
    })
    for (const name of stale) await client.query(`drop database if exists ${name} with (force)`)
    return stale.length
  } finally {
    await client.end()
  }
}

async function run(url: string, statement: string): Promise<void> {
  const client = await connect(url)
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  // A connection that breaks between statements is reported here; the next statement then fails by itself.
  client.on('error', () => {})
  await client.connect()
  return client
}
