import { redactSecrets, redactUrl } from '@sched/core/spi'

/** The target as it may be shown, and a filter for every text that leaves the suite. */
export interface TargetSecrets {
  readonly shown: string | undefined
  /** The password as written in the URL and as it is. */
  readonly values: readonly string[]
  readonly redact: (text: string) => string
}

export function targetSecrets(url: string | undefined): TargetSecrets {
  if (url === undefined) return { shown: undefined, values: [], redact: (text) => text }
  const values = [...new Set([...passwordOf(url), ...queryPasswords(url)])].filter((value) => value !== '')
  return {
    shown: redactUrl(url),
    values,
    redact: (text) => values.reduce((shown, secret) => shown.replaceAll(secret, '***'), redactSecrets(text.replaceAll(url, redactUrl(url)), url)),
  }
}

function passwordOf(url: string): string[] {
  const written = /:\/\/[^:@/?#]*:([^@/?#]+)@/.exec(url)?.[1]
  return written === undefined ? [] : [written, decoded(written)]
}

// Drivers take passwords in the query too: `?password=`, `?sslpassword=`.
function queryPasswords(url: string): string[] {
  return [...url.matchAll(/[?&][^=&#]*(?:password|secret|token)[^=&#]*=([^&#]+)/gi)].flatMap(([, written = '']) => [written, decoded(written)])
}

function decoded(written: string): string {
  try { return decodeURIComponent(written) } catch (error) {
    if (error instanceof URIError) return written
    throw error
  }
}
