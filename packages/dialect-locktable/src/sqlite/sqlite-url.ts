import { SchedError } from '@sched/core/spi'

/**
 * The path in `sqlite:./sched.db`, `sqlite:/var/lib/app/sched.db` or `sqlite:///var/lib/app/sched.db`.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function fileOfUrl(url: string): string {
  const invalid = (why: string): SchedError => new SchedError('SCHED_OPTION_INVALID', `the URL ${JSON.stringify(url)} ${why}: expected sqlite:./file.db, sqlite:/path/file.db or sqlite:///path/file.db.`)
  const path = /^sqlite:(.*)$/is.exec(url)?.[1]
  if (path === undefined) throw invalid('is not one of SQLite')
  if (/[?#]/.test(path)) throw invalid('has options, of which there are none (write ? as %3F and # as %23)')
  if (path.startsWith('//') && !path.startsWith('///')) throw invalid('names a host')
  const plain = path.startsWith('///') ? path.slice(2) : path
  let decoded: string
  try {
    decoded = decodeURIComponent(plain)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw invalid('has a % that is not followed by two hexadecimal digits')
  }
  if (decoded === '') throw invalid('names no file')
  return /^\/[a-z]:/i.test(decoded) && process.platform === 'win32' ? decoded.slice(1) : decoded
}
