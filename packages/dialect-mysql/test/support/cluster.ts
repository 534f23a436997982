import { onTestFinished } from 'vitest'
import { spawnNode, type ChildLine, type NodeChild, type SpawnNodeOptions } from '@sched-dev/databases'
import { eventually, onlooker, type Onlooker } from './scene.ts'

export interface Run extends ChildLine { readonly at: number; readonly kind: string; readonly fireTime: number; readonly attempt: number; readonly token: number }

/** Instances as processes on one database, and what their journals and the ledger say in the end. */
export class Cluster {
  readonly url: string
  readonly instances: NodeChild[] = []

  constructor(url: string) { this.url = url }

  add(options: object = {}, spawn?: SpawnNodeOptions): NodeChild {
    const child = spawnNode(new URL('../processes/instance.ts', import.meta.url), [this.url, JSON.stringify(options)], spawn)
    this.instances.push(child)
    onTestFinished(async () => { await child.kill() })
    return child
  }

  async started(): Promise<void> { await Promise.all(this.instances.map((child) => child.line(({ kind }) => kind === 'started', 60_000))) }

  lines(kind: string): Run[] { return this.instances.flatMap(({ lines }) => lines as readonly Run[]).filter((line) => line.kind === kind) }

  /** Waits until so many fire times have begun after now. */
  async runs(more: number, timeoutMs = 40_000): Promise<void> {
    const before = this.lines('start').length
    await eventually(async () => this.lines('start').length >= before + more, timeoutMs)
  }

  async stop(): Promise<void> {
    await Promise.all(this.instances.map(async (child) => {
      child.send('stop')
      await child.exited
    }))
  }

  looker(): Promise<Onlooker> { return onlooker(this.url) }

  /**
   * Fire times of which more than one attempt began first, attempts that overlapped (one whose lease was over while it was frozen is told
   * so when it wakes: its span does not count), effects that were written twice, without success or not at all, and rows left running.
   */
  async faults(): Promise<{ readonly doubleFirstStarts: number; readonly overlaps: number; readonly effects: number; readonly openRows: number }> {
    const starts = this.lines('start')
    const first = starts.filter(({ attempt }) => attempt === 1).map(({ fireTime }) => fireTime)
    const ends = new Map(this.lines('end').filter((line) => line['aborted'] !== true).map((line) => [`${line.fireTime}/${line.attempt}`, line.at]))
    const spans = starts.map((line) => ({ from: line.at, to: ends.get(`${line.fireTime}/${line.attempt}`) })).filter((span): span is { from: number; to: number } => span.to !== undefined).sort((a, b) => a.from - b.from)
    const looker = await this.looker()
    const [effects] = await looker.query(`SELECT COUNT(*) AS n FROM (SELECT fire_time FROM effects GROUP BY fire_time HAVING COUNT(*) > 1
 UNION ALL SELECT f.fire_time FROM effects f LEFT JOIN sched_executions e ON e.task_name = 'write' AND e.fire_time = f.fire_time AND e.state = 'succeeded' WHERE e.fire_time IS NULL
 UNION ALL SELECT e.fire_time FROM sched_executions e LEFT JOIN effects f ON f.fire_time = e.fire_time WHERE e.task_name = 'write' AND e.state = 'succeeded' AND f.fire_time IS NULL) x`)
    const [open] = await looker.query("SELECT COUNT(*) AS n FROM sched_executions WHERE state = 'running'")
    return {
      doubleFirstStarts: first.length - new Set(first).size,
      overlaps: spans.filter((span, index) => index > 0 && span.from < spans[index - 1]!.to).length,
      effects: Number(effects?.['n']), openRows: Number(open?.['n']),
    }
  }
}

export const noFaults = { doubleFirstStarts: 0, overlaps: 0, effects: 0, openRows: 0 } as const

/** The user's own table, which `ctx.transaction` writes to. */
export async function createEffects(url: string): Promise<void> {
  await (await onlooker(url)).query('CREATE TABLE effects (fire_time BIGINT NOT NULL) ENGINE=InnoDB')
}
