import { SchedError } from '../../errors.ts'

/** The three-letter names that IANA has. ICU knows more (`PST`, `IST`, `CST`), with a meaning that depends on who reads them. */
const shortNames = new Set(['CET', 'EET', 'EST', 'GMT', 'HST', 'MET', 'MST', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC', 'WET'])
const known = new Map<string, string>()

/**
 * An IANA zone name in its usual spelling. Any letter case is accepted; an alias such as `Asia/Kolkata` stays what it is, because runtimes differ in
 * which of the two names they prefer and nodes must not.
 * @throws SchedError SCHED_TIME_ZONE_UNKNOWN
 */
export function resolveTimeZone(name: string): string {
  const seen = known.get(name)
  if (seen !== undefined) return seen
  const resolved = isIanaForm(name) ? canonical(name) : undefined
  if (resolved === undefined) throw unknownZone(name)
  const spelled = resolved.toLowerCase() === name.toLowerCase() ? resolved : name
  known.set(name, spelled)
  return spelled
}

function isIanaForm(name: unknown): name is string {
  if (typeof name !== 'string' || !/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(name)) return false
  return !name.startsWith('SystemV/') && (name.length > 3 || shortNames.has(name.toUpperCase()) || /^(?:GB|NZ)$/i.test(name))
}

function canonical(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined // a RangeError is how Intl says that it does not know the name
  }
}

function unknownZone(name: unknown): SchedError {
  const found = typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : String(name)
  return new SchedError('SCHED_TIME_ZONE_UNKNOWN', `timeZone is ${found}, expected the name of an IANA time zone such as 'Europe/Berlin' or 'UTC'.`, {
    remedy: remedyFor(name), details: { option: 'timeZone', found: typeof name === 'string' ? name.slice(0, 80) : typeof name },
  })
}

function remedyFor(name: unknown): string {
  const text = typeof name === 'string' ? name.trim() : ''
  if (/^(?:local|system|default|host)$/i.test(text)) return 'The zone of the machine may differ from node to node; write its name.'
  if (/^(?:UTC|GMT)?[+-]\d/i.test(text)) return "An offset knows no daylight saving; name the place's zone, or for a fixed offset write Etc/GMT-5 for +05:00 (the sign is inverted)."
  const wanted = text.toLowerCase().replaceAll(' ', '_')
  const near = wanted.length < 3 ? [] : Intl.supportedValuesOf('timeZone').filter((zone) => `/${zone.toLowerCase()}`.endsWith(`/${wanted}`))
  if (near[0] !== undefined) return `Did you mean '${near[0]}'?`
  return "Intl.supportedValuesOf('timeZone') lists the names."
}
