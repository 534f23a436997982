import { listGates, type GateHolder } from '../ledger/gates.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { requireTask } from '../ledger/operate.ts'
import type { LockHolder } from '../spi/lock-source.ts'

/** What keeps a task from starting, and who holds it. */
export interface TaskLock {
  readonly task: string
  /** Its gate in the ledger; null: free. Tasks with overlap `allow` take none. */
  readonly gate: GateHolder | null
  /** The lock beside the ledger (`lockVeto`); null: free. Absent where there is none, also with leases in a lock table, or where the lock source cannot tell. */
  readonly lock?: LockHolder | null
}

/** @throws SchedError SCHED_TASK_UNKNOWN */
export async function listTaskLocks(ledger: Ledger, task: string | undefined, holder: ((task: string) => Promise<LockHolder | null>) | undefined): Promise<TaskLock[]> {
  const locks: TaskLock[] = []
  for (const gate of await listGates(ledger, task)) {
    locks.push({ task: gate.task, gate: gate.holder, ...(holder === undefined ? {} : { lock: await holder(gate.task) }) })
  }
  if (task !== undefined && locks.length === 0) await requireTask(ledger, task)
  return locks
}
