import { SchedError } from '@sched/core/spi'

export const schemes: readonly string[] = ['oracle']

/** A connection as `oracledb.getConnection` takes it. */
export interface UrlConfig { readonly user: string; readonly password: string; readonly connectString: string }

/**
 * Reads `oracle://user:password@host:1521/service`, with Easy Connect Plus parameters behind `?` if need be
 * (https://docs.oracle.com/en/database/oracle/oracle-database/23/netag/configuring-naming-methods.html). Connects to nothing.
 * An unescaped `@`, `/`, `?` or `#` in a password puts a part of it where host, path or query are, and the driver's errors would
 * show it: such a URL is refused, and never quoted.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function configOfUrl(text: unknown): UrlConfig {
  if (typeof text !== 'string') throw invalid(`is a ${typeof text}`)
  if (!/^oracle:\/\//i.test(text)) throw invalid('does not begin with oracle://')
  const url = URL.parse(text)
  if (url === null) throw invalid('cannot be read (special characters of user and password must be percent-encoded)')
  if (url.hash !== '' || url.pathname.includes('@') || url.search.includes('@')) {
    throw invalid('has an "@" behind the host, or a "#" (special characters of user and password must be percent-encoded)')
  }
  const [user, password, service] = [url.username, url.password, url.pathname.slice(1)].map(decoded)
  if (url.hostname === '') throw invalid('names no host')
  if (user === undefined || user === '' || password === undefined || password === '') throw invalid('names no user and password')
  // Names of services: https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/SERVICE_NAMES.html; `:dedicated` is a server type.
  if (service === undefined || !/^[\w.$#-]+(:\w+)?$/.test(service)) throw invalid('names no service')
  return { user, password, connectString: `${url.hostname}:${url.port === '' ? '1521' : url.port}/${service}${url.search}` }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw invalid('has a "%" that is no percent-encoding')
  }
}

function invalid(what: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', `the Oracle URL ${what}.`, { remedy: 'Expected oracle://user:password@host:1521/service.' })
}
