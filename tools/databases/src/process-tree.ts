import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** State letter, parent and start time from /proc; undefined when there is no such process (or no /proc). */
export function processStatus(pid: number): { state: string, parent: number, startTime: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')   // the name before it may hold blanks and brackets
    return { state: fields[0] ?? '', parent: Number(fields[1]), startTime: fields[19] ?? '' }
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** All processes below this one, parents first. */
export function descendants(pid: number): number[] {
  if (process.platform !== 'linux') return []
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const status = processStatus(Number(entry))
    if (status !== undefined) children.set(status.parent, [...(children.get(status.parent) ?? []), Number(entry)])
  }
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid)
}

/** Sends a signal; false when the process no longer exists. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Stops a process and everything below it, and returns when all have really stopped. */
export async function freezeTree(pid: number): Promise<void> {
  // The parent first, so that no child is born after the list was made.
  if (!signal(pid, 'SIGSTOP')) throw new Error(`process ${pid} is gone, it cannot be frozen`)
  await stopped(pid)
  for (const child of descendants(pid)) if (signal(child, 'SIGSTOP')) await stopped(child)
}

export function thawTree(pid: number): void {
  for (const each of [...descendants(pid), pid]) signal(each, 'SIGCONT')
}

export function killTree(pid: number): void {
  for (const each of [pid, ...descendants(pid)]) signal(each, 'SIGKILL')
}

async function stopped(pid: number): Promise<void> {
  if (process.platform !== 'linux') return
  for (let tries = 0; tries < 1_000; tries++) {
    const state = processStatus(pid)?.state
    if (state === undefined || 'TtZX'.includes(state)) return
    await sleep(1)
  }
  throw new Error(`process ${pid} did not stop within a second of SIGSTOP`)
}
