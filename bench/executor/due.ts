import { setTimeout as sleep } from 'node:timers/promises'
import { freshDatabase, spawnNode, type ChildLine } from '@sched-dev/databases'

/** One fire time that all tasks share. */
export interface Round { readonly fireTime: number; readonly runs: number; readonly runTwice: number; readonly lateMs: readonly number[] }

export interface DueAtOnce { readonly rounds: readonly Round[]; readonly errors: readonly string[]; readonly byNode: readonly number[] }

const periodSeconds = 20

/** Tasks that all fall due in the same second, on several instances. */
export async function dueAtOnce(serverUrl: string, tasks: number, nodes: number, rounds: number): Promise<DueAtOnce> {
  await using database = await freshDatabase(serverUrl)
  const children = Array.from({ length: nodes }, () => spawnNode(new URL('./due-node.ts', import.meta.url), [database.url, String(tasks), String(periodSeconds)]))
  await Promise.all(children.map((child) => child.line(({ kind }) => kind === 'started', 120_000)))
  const first = Math.ceil(Date.now() / (periodSeconds * 1_000)) * periodSeconds * 1_000
  await sleep(first + rounds * periodSeconds * 1_000 - 2_000 - Date.now())
  for (const child of children) child.send('stop')
  await Promise.all(children.map(({ exited }) => exited))
  const lines = (kind: string): ChildLine[] => children.flatMap((child) => child.lines.filter((line) => line['kind'] === kind))
  return {
    rounds: Array.from({ length: rounds }, (_, index) => roundOf(first + index * periodSeconds * 1_000, lines('run'))),
    errors: lines('error').map(({ where, message }) => `${String(where)}: ${String(message)}`),
    byNode: children.map((child) => child.lines.filter(({ kind }) => kind === 'run').length),
  }
}

function roundOf(fireTime: number, runs: readonly ChildLine[]): Round {
  const mine = runs.filter((run) => run['fireTime'] === fireTime)
  return { fireTime, runs: mine.length, runTwice: mine.length - new Set(mine.map(({ task }) => task)).size, lateMs: mine.map(({ lateMs }) => lateMs as number) }
}
