import type { TaskLock } from '../executor/task-locks.ts'
import type { GateHolder } from '../ledger/gates.ts'
import type { LockHolder } from '../spi/lock-source.ts'

/** One line: the task, who holds its gate, and who holds the lock beside it. */
export function describeLock({ task, gate, lock }: TaskLock): string {
  const parts = [task, gate === null ? 'gate free' : describeGate(gate)]
  if (lock !== undefined) parts.push(lock === null ? 'lock free' : describeHolder(lock))
  return `${parts.join('\t')}\n`
}

function describeGate({ instance, nodeId, alive, sinceAt, executionId }: GateHolder): string {
  const since = executionId === null || sinceAt === null ? ', whose execution has ended without its handler' : ` since ${new Date(sinceAt).toISOString()} for ${executionId}`
  return `gate held by ${instance ?? nodeId}${alive ? '' : ' (not alive)'}${since}`
}

function describeHolder({ ownerLabel, owner, host, sessionId, sinceAt, notPermitted }: LockHolder): string {
  const who = ownerLabel ?? host ?? owner ?? (sessionId === undefined ? 'somebody' : `session ${sessionId}`)
  return `lock held by ${who}${sinceAt === undefined ? '' : ` since ${new Date(sinceAt).toISOString()}`}${notPermitted === undefined ? '' : ` (to see more: ${notPermitted})`}`
}
