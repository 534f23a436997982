// One instance of a service: the whole schedule (a task each second), run against the database that the others use too.
import { createScheduler } from '@sched/core'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeLine, type JournalLine } from './journal.ts'

export interface InstanceConfig {
  readonly url: string
  readonly node: number
  readonly namespace: string
  readonly journal: string
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly workMs: number
}

const config = JSON.parse(process.argv[2] ?? '') as InstanceConfig
const { url, node, namespace, journal, leaseMs, heartbeatMs, workMs } = config

type Untimed<L> = L extends JournalLine ? Omit<L, 'node' | 'at'> : never
function note(line: Untimed<JournalLine>): void {
  const full = { ...line, node, at: Date.now() } as JournalLine
  writeLine(journal, full)
  process.stdout.write(`${JSON.stringify(full)}\n`)
}

const scheduler = createScheduler({ url, namespace, leaseMs, heartbeatMs, concurrency: 4, drainMs: 2000, abortGraceMs: 500 })

scheduler.task('tick', { cron: '* * * * * *' }, async ({ fireTime, attempt, fencingToken: token, reason, signal }) => {
  const run = { fireTime: fireTime.getTime(), attempt, token }
  note({ kind: 'start', ...run, reason })
  let outcome: 'returned' | 'aborted' = 'returned'
  try {
    await sleep(workMs, undefined, { signal })
    signal.throwIfAborted()
  } catch (error) {
    outcome = 'aborted'
    throw error
  } finally {
    note({ kind: 'end', ...run, outcome })
  }
})

scheduler.on('heartbeat', () => note({ kind: 'beat' }))
scheduler.on('node.lost', () => note({ kind: 'lost' }))
scheduler.on('execution.succeeded', ({ fireTime, attempt, fencingToken: token }) => note({ kind: 'written', fireTime, attempt, token }))
scheduler.on('execution.fenced', ({ fireTime, attempt, fencingToken: token }) => note({ kind: 'fenced', fireTime, attempt, token }))
scheduler.on('execution.recovered', ({ fireTime }) => note({ kind: 'recovered', fireTime }))
scheduler.on('slot.skipped', ({ fireTime, reason }) => note({ kind: 'skipped', fireTime, reason }))
scheduler.on('slot.missed', ({ caughtUp, count }) => note({ kind: 'caught-up', fireTime: caughtUp ?? null, missed: count }))
scheduler.on('error', ({ error, where }) => note({ kind: 'error', message: `${where}: ${error.message}` }))

// The parent's end of the pipe closes when it is gone, however it went: then nobody stays behind, a frozen sibling included.
let siblings: number[] = []
createInterface({ input: process.stdin }).on('line', (line) => { siblings = JSON.parse(line) as number[] }).on('close', () => {
  for (const pid of siblings) {
    try { process.kill(pid, 'SIGKILL') } catch (error) { if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error }
  }
  process.exit(1)
})

try {
  await scheduler.start()
} catch (error) {
  process.stderr.write(`instance ${node}: ${(error as Error).message}\n`)
  process.exit(1)
}
note({ kind: 'started' })
scheduler.on('stopped', () => process.exit(0))
