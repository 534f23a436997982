import { type OpenOptions, orAborted } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { PhysicalSession } from '../session/physical-session.ts'

export const product = 'Oracle Database'

/** Asks on a session on which nothing is set and nothing changed; it is closed before the answer. */
export async function lookAt<T>(connector: Connector, { signal }: OpenOptions, ask: (session: PhysicalSession) => Promise<T>): Promise<T> {
  const session = await connector.connect(signal)
  try {
    return await orAborted(signal, ask(session), () => { session.destroy() })
  } finally {
    session.destroy()
  }
}

/** What names are shared by: the tables and lock names of one container; the schema tells its tenants apart. */
export function scopeOf({ container, schema }: { readonly container: string; readonly schema: string }): string {
  return `${container}/${schema}`.toLowerCase()
}
