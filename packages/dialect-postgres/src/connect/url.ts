import { SchedError } from '@sched/core/spi'

export const schemes: readonly string[] = ['postgres', 'postgresql']

/**
 * Checks a connection URL without connecting. An unescaped `@`, `/`, `?` or `#` in a password puts a part of it where host, path or
 * query are, and the driver's errors would show it: such a URL is refused, and never quoted.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function checkUrl(text: unknown): string {
  if (typeof text !== 'string') throw invalid(`is a ${typeof text}`)
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined || !schemes.includes(scheme)) throw invalid('does not begin with postgres:// or postgresql://')
  const url = URL.parse(text)
  if (url === null) throw invalid('cannot be read (special characters of user and password must be percent-encoded)')
  if (url.hash !== '' || url.pathname.includes('@') || url.search.includes('@')) {
    throw invalid('has an "@" behind the host, or a "#" (special characters of user and password must be percent-encoded)')
  }
  if (url.hostname.includes(',')) throw invalid('names several hosts, which the driver `pg` does not take')
  if (url.pathname.slice(1).includes('/')) throw invalid('has a path of several parts where the database name should be')
  for (const part of [url.username, url.password, url.hostname, url.pathname]) {
    if (!isEncoded(part)) throw invalid('has a "%" that is no percent-encoding')
  }
  return text
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
  return new SchedError('SCHED_OPTION_INVALID', `the PostgreSQL URL ${what}.`, { remedy: 'Expected postgres://user:password@host:5432/database.' })
}
