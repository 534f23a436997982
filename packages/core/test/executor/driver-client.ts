/** The part of a driver's client that handlers call: `pg`, `mysql2` and `node:sqlite`. */
interface Client {
  query?: (text: string) => Promise<unknown>
  exec?: (text: string) => void
  prepare?: (text: string) => { all(): unknown[] }
}

/** Runs one statement, whichever driver it is. */
export async function execute(client: unknown, text: string): Promise<void> {
  const { query, exec } = client as Client
  if (query !== undefined) await query.call(client, text)
  else exec?.call(client, text)
}

/** The rows of a SELECT, whichever driver it is. */
export async function select(client: unknown, text: string): Promise<readonly Record<string, unknown>[]> {
  const { query, prepare } = client as Client
  if (query === undefined) return prepare?.call(client, text).all() as Record<string, unknown>[]
  const answer = await query.call(client, text)
  return Array.isArray(answer) ? answer[0] as Record<string, unknown>[] : (answer as { rows: Record<string, unknown>[] }).rows
}
