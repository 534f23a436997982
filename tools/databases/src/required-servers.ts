import { serverTable } from './server-table.ts'

/** Not a server but the means to start throw-away ones: can be required like a server. */
export const privatePostgresName = 'postgres-private'
export const privateMysqlName = 'mysql-private'

/**
 * The names in SCHED_TEST_REQUIRE: what must be there, so that a missing one fails instead of being skipped.
 * A family (`pgbouncer`) stands for its members; a name that exists as such (`postgres`) stands for itself.
 */
export function requiredServers(value: string | undefined = process.env.SCHED_TEST_REQUIRE): ReadonlySet<string> {
  const known: string[] = [...serverTable.map(({ name }) => name), privatePostgresName, privateMysqlName]
  const required = new Set<string>()
  for (const word of (value ?? '').split(',').map((part) => part.trim()).filter((part) => part !== '')) {
    const members = known.includes(word) ? [word] : known.filter((name) => name.startsWith(`${word}-`))
    // A typo must not turn a required server into one that nobody asks for.
    if (members.length === 0) throw new Error(`SCHED_TEST_REQUIRE names "${word}"; there are: ${known.join(', ')}`)
    for (const name of members) required.add(name)
  }
  return required
}
