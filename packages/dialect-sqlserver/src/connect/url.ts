import { SchedError } from '@sched/core/spi'
import type { TediousConfig } from './owned-connector.ts'

export const schemes: readonly string[] = ['sqlserver', 'mssql']

type Reader = (value: string) => unknown

const yesNo: Reader = (value) => ({ true: true, false: false, yes: true, no: false })[value.toLowerCase()]
const milliseconds: Reader = (value) => (/^\d{1,9}$/.test(value) ? Number(value) : undefined)
const text: Reader = (value) => (value === '' ? undefined : value)

/** What a URL may say behind the `?`: tedious' own names. https://tediousjs.github.io/tedious/api-connection.html#function_newConnection */
const parameters: Readonly<Record<string, Reader>> = {
  encrypt: (value) => (value === 'strict' ? 'strict' : yesNo(value)),
  trustServerCertificate: yesNo,
  multiSubnetFailover: yesNo,
  connectTimeout: milliseconds,
  packetSize: milliseconds,
  instanceName: text,
  serverName: text,
  workstationId: text,
}

/**
 * Reads a connection URL without connecting. An unescaped `@`, `/`, `?` or `#` in a password puts a part of it where host, path or
 * query are, and the driver's errors would show it: such a URL is refused, and never quoted.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function configOfUrl(given: unknown): TediousConfig {
  const url = checkUrl(given)
  const options: Record<string, unknown> = {}
  for (const [name, value] of url.searchParams) {
    const read = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (read === undefined) throw invalid(`has a parameter that is not one of ${Object.keys(parameters).join(', ')}`)
    options[name] = read(value)
    if (options[name] === undefined) throw invalid(`has a value for ${name} that it cannot have`)
  }
  const port = portOf(given as string)
  if (options['instanceName'] !== undefined && port !== undefined) throw invalid('names a port and an instanceName, which exclude each other')
  if (port !== undefined) options['port'] = port
  const database = decodeURIComponent(url.pathname.slice(1))
  if (database !== '') options['database'] = database
  return {
    server: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    authentication: { type: 'default', options: { userName: decodeURIComponent(url.username), password: decodeURIComponent(url.password) } },
    options,
  }
}

function checkUrl(given: unknown): URL {
  if (typeof given !== 'string') throw invalid(`is a ${typeof given}`)
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1]?.toLowerCase()
  if (scheme === undefined || !schemes.includes(scheme)) throw invalid('does not begin with sqlserver:// or mssql://')
  if (/;/.test(given)) throw invalid('has a ";": it is no connection string of JDBC or ADO.NET')
  // For schemes it does not know URL takes almost any host: one that it knows is stricter.
  const url = URL.parse(given.replace(/^[^:]+:/, 'http:'))
  if (url === null) throw invalid('cannot be read (special characters of user and password must be percent-encoded)')
  if (url.hash !== '' || url.pathname.includes('@') || url.search.includes('@')) {
    throw invalid('has an "@" behind the host, or a "#" (special characters of user and password must be percent-encoded)')
  }
  if (url.hostname.includes(',')) throw invalid('names several hosts or a port behind a comma')
  if (url.pathname.slice(1).includes('/')) throw invalid('has a path of several parts where the database name should be')
  if (url.username === '') throw invalid('names no user (for other ways to log in there is the option config)')
  for (const part of [url.username, url.password, url.hostname, url.pathname]) {
    if (!isEncoded(part)) throw invalid('has a "%" that is no percent-encoding')
  }
  return url
}

/** URL hides the port that is the default of the scheme it was given. */
function portOf(given: string): number | undefined {
  const port = /^[^:]+:\/\/(?:[^@/?#]*@)?(?:\[[^\]]*\]|[^:/?#]*):(\d+)/.exec(given)?.[1]
  return port === undefined ? undefined : Number(port)
}

function isEncoded(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    return false
  }
}

function invalid(what: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', `the SQL Server URL ${what}.`, { remedy: 'Expected sqlserver://user:password@host:1433/database?encrypt=true&trustServerCertificate=false.' })
}
