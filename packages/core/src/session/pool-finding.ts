import type { Finding } from '../spi/probe.ts'

/** How many connections a use may hold at once, and what each is for. */
export interface ConnectionNeed { readonly count: number; readonly what: string }

/** A pool of the caller's against what is taken from it: what is lent to us stays with us, it is not given back after a statement. */
export function poolFindings(limit: number | undefined, needs: readonly ConnectionNeed[]): Finding[] {
  const total = needs.reduce((sum, { count }) => sum + count, 0)
  if (limit === undefined || limit >= total) return []
  return [{
    level: 'warn', code: 'SCHED_UNSAFE_LIMIT',
    message: `@sched may hold ${needs.map(({ count, what }) => `${count} (${what})`).join(' + ')} = ${total} connections at once, and the pool lends ${limit}, to the application and to @sched together.`,
    remedy: 'Raise its limit to that and what the application needs, or give @sched a URL: what finds none to borrow waits or fails.',
  }]
}
