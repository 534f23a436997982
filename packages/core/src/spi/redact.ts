/** A URL that may be shown: no password, no user, no query (drivers take passwords there too). */
export function redactUrl(url: string): string {
  const match = /^([a-z][a-z0-9+.-]*):(?:\/\/)?(?:[^@/?#]*@)?([^?#]*)/i.exec(url)
  if (match === null) return '(not a URL)'
  const [, scheme = '', rest = ''] = match
  return url.includes('://') ? `${scheme}://${rest}` : `${scheme}:${rest}`
}

/** A text in which no secret of the URL occurs: for error messages of drivers that quote what they were given. */
export function redactSecrets(text: string, url: string): string {
  const password = /:\/\/[^:@/?#]*:([^@/?#]+)@/.exec(url)?.[1]
  if (password === undefined) return text
  let plain = password
  try { plain = decodeURIComponent(password) } catch (error) { if (!(error instanceof URIError)) throw error }
  return [password, plain].reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}
