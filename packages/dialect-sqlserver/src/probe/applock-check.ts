import { randomUUID } from 'node:crypto'
import { getApplock, getApplockValues, releaseApplock, releaseApplockValues } from '../locks/applock-statements.ts'
import type { PhysicalSession } from '../session/physical-session.ts'

/**
 * Whether the application locks of a server that is none of Microsoft's do what is documented: a free one is granted with 0, a held one
 * refused with -1, and free again after its release. Another code for "held" cannot be told from a failure. One refusal is all that it
 * asks for, on a session of its own: Babelfish 4.4.0 as published ends the whole server at the fifth (measured on it).
 * Answers what is wrong, or undefined.
 */
export async function applocksAreWrong(open: () => Promise<PhysicalSession>): Promise<string | undefined> {
  const resource = `sched-probe-${randomUUID()}`
  const [holder, other] = [await open(), await open()]
  const take = async (session: PhysicalSession): Promise<number | undefined> => (await session.call(getApplock, getApplockValues(resource, 0), 0)).status
  const free = async (session: PhysicalSession): Promise<number | undefined> => (await session.call(releaseApplock, releaseApplockValues(resource), 0)).status
  const first = await take(holder)
  if (first !== 0) return `sp_getapplock of a free lock answered ${String(first)} instead of 0`
  const second = await take(other)
  if (second !== -1) return `sp_getapplock of a held lock answered ${String(second)} instead of -1`
  const released = await free(holder)
  if (released !== 0) return `sp_releaseapplock answered ${String(released)} instead of 0`
  const third = await take(other)
  return third === 0 ? undefined : `sp_getapplock of a released lock answered ${String(third)} instead of 0`
}
