import { SchedError } from '@sched/core/spi'

export const schemes: readonly string[] = ['mysql', 'mariadb']

/** The part of `mysql2`'s options that a URL can say. */
export interface UrlConfig {
  readonly host: string
  readonly port?: number
  readonly user?: string
  readonly password?: string
  readonly database?: string
  readonly socketPath?: string
  readonly connectTimeout?: number
  readonly ssl?: { readonly rejectUnauthorized: boolean; readonly verifyIdentity?: boolean }
}

// https://dev.mysql.com/doc/refman/9.7/en/connection-options.html#option_general_ssl-mode. PREFERRED, which falls back to plain
// text, is not among them: the driver cannot.
const sslModes: Readonly<Record<string, UrlConfig['ssl'] | 'none'>> = {
  DISABLED: 'none', REQUIRED: { rejectUnauthorized: false }, VERIFY_CA: { rejectUnauthorized: true },
  VERIFY_IDENTITY: { rejectUnauthorized: true, verifyIdentity: true },
}

/**
 * Reads a connection URL without connecting. An unescaped `@`, `/`, `?` or `#` in a password puts a part of it where host, path or
 * query are, and an error would show it: such a URL is refused, and never quoted.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function readUrl(text: unknown): UrlConfig {
  if (typeof text !== 'string') throw invalid(`is a ${typeof text}`)
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined || !schemes.includes(scheme)) throw invalid('does not begin with mysql:// or mariadb://')
  // As http, so that a host is read as one; what is wrong with it must not be told by an error that quotes it.
  const url = URL.parse(text.replace(/^[^:]+/, 'http'))
  if (url === null) throw invalid('cannot be read (special characters of user and password must be percent-encoded)')
  if (url.hash !== '' || url.pathname.includes('@') || url.search.includes('@')) {
    throw invalid('has an "@" behind the host, or a "#" (special characters of user and password must be percent-encoded)')
  }
  if (url.pathname.slice(1).includes('/')) throw invalid('has a path of several parts where the database name should be')
  const [user, password, database] = [decoded(url.username), decoded(url.password), decoded(url.pathname.slice(1))]
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: portOf(text, url),
    ...(user === '' ? {} : { user }),
    ...(password === '' ? {} : { password }),
    ...(database === '' ? {} : { database }),
    ...parameters(url.searchParams),
  }
}

function portOf(text: string, url: URL): number {
  // URL drops 80, the default of the scheme it was read under.
  if (url.port !== '') return Number(url.port)
  return /^[^/]+\/\/[^/?#]*:0*80(?:[/?]|$)/.test(text) ? 80 : 3306
}

function parameters(given: URLSearchParams): Partial<UrlConfig> {
  const config: { -readonly [Key in keyof UrlConfig]?: UrlConfig[Key] } = {}
  for (const [name, value] of given) {
    if (name === 'socketPath') config.socketPath = value
    else if (name === 'connectTimeout' && /^[1-9]\d{0,8}$/.test(value)) config.connectTimeout = Number(value)
    else if (name === 'ssl-mode') {
      const mode = sslModes[value.toUpperCase()]
      if (mode === undefined) throw invalid(`has an ssl-mode that is none of ${Object.keys(sslModes).join(', ')}`)
      if (mode !== 'none') config.ssl = mode
    } else throw invalid('has a parameter that is none of ssl-mode, socketPath and connectTimeout (in ms); give `config` for others')
  }
  return config
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
  return new SchedError('SCHED_OPTION_INVALID', `the MySQL URL ${what}.`, { remedy: 'Expected mysql://user:password@host:3306/database.' })
}
