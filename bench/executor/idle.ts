import { freshDatabase, spawnNode } from '@sched-dev/databases'

export interface IdleCost {
  readonly tasks: number
  readonly ledger: 'empty' | 'known'
  readonly definedMs: number
  readonly startMs: number
  /** Share of one core, 0 to 1, between heartbeats and with them. */
  readonly cpuShare: number
  /** Timers that keep the process alive. */
  readonly timers: number
  readonly beats: number
  readonly heapMb: number
}

/** What schedules of these sizes cost an instance, at its first start and, with `again`, at one that finds its tasks in the ledger. */
export async function idleCosts(serverUrl: string, sizes: readonly number[]): Promise<IdleCost[]> {
  const costs: IdleCost[] = []
  for (const tasks of sizes) {
    await using database = await freshDatabase(serverUrl)
    for (const ledger of ['empty', 'known'] as const) {
      await using child = spawnNode(new URL('./idle-node.ts', import.meta.url), [database.url, String(tasks)])
      const cost = await child.line<Omit<IdleCost, 'tasks' | 'ledger'>>(({ startMs }) => startMs !== undefined, 180_000)
      costs.push({ ...cost, tasks, ledger })
    }
  }
  return costs
}
