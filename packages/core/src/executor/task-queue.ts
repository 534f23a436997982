import { beyondBounds, dueExecutions } from '../ledger/due.ts'
import type { ExecutionRow } from '../ledger/execution-row.ts'
import { skipSlot } from '../ledger/slot.ts'
import type { ArmedTask } from './armed-task.ts'
import type { Executor } from './executor.ts'
import { maxClaimAgeMs } from './missed-scan.ts'

const page = 100

/**
 * What waits for the gate of a task and comes next: oldest fire time first, so that nothing waits for ever. `run-all` keeps the slots that
 * its bounds allow; elsewhere the latest slot takes the place of the older ones, but neither of a retry nor of what a person triggered.
 */
export async function nextInQueue(executor: Executor, task: ArmedTask): Promise<ExecutionRow | undefined> {
  const { ledger } = executor
  const { overlap, misfire } = task.definition
  const which = task.startableNow
  if (misfire === 'run-all') {
    await giveUpBacklog(executor, task)
    return (await dueExecutions(ledger, task.name, { which, most: 1 }))[0]
  }
  const rows = await dueExecutions(ledger, task.name, { which, most: page })
  const slots = rows.filter(({ state, origin }) => state === 'pending' && origin !== 'manual')
  if (rows.length === page) slots.push(...await slotsBehind(executor, task, rows.at(-1)))
  const latest = slots.pop()
  for (const slot of slots) await supersede(executor, slot)
  // It ends what runs, an older attempt just as well.
  if (overlap === 'cancel-previous' && latest !== undefined) return latest
  const superseded = new Set(slots)
  return rows.find((row) => !superseded.has(row)) ?? latest
}

/** The slots that a page did not show: the latest of all takes the place of the others. */
async function slotsBehind({ ledger }: Executor, { name, startableNow: which }: ArmedTask, last: ExecutionRow | undefined): Promise<ExecutionRow[]> {
  const slots: ExecutionRow[] = []
  for (let after = last; after !== undefined;) {
    const found = await dueExecutions(ledger, name, { which, most: page, slotsOnly: true, after })
    slots.push(...found)
    after = found.length === page ? found.at(-1) : undefined
  }
  return slots
}

async function supersede({ ledger, events }: Executor, { taskName: task, executionId, fireTime }: ExecutionRow): Promise<void> {
  if (!await skipSlot(ledger, executionId, { code: 'superseded', text: 'a later slot took its place in the queue.' })) return
  events.emit('slot.skipped', { task, executionId, fireTime, reason: 'superseded' })
}

/** A task that takes longer than its period falls behind: the oldest slots go. */
async function giveUpBacklog({ ledger, events, leaseMs }: Executor, { name, definition }: ArmedTask): Promise<void> {
  const { max } = definition.runAll
  const maxAgeMs = maxClaimAgeMs(definition, leaseMs)
  let count = 0
  // One of them runs now.
  for (const executionId of await beyondBounds(ledger, name, { most: max + 1, maxAgeMs })) {
    if (await skipSlot(ledger, executionId, { code: 'backlog', text: `more than ${max} slots waited, or this one longer than ${maxAgeMs} ms.` }, 'missed')) count += 1
  }
  if (count > 0) events.emit('slot.missed', { task: name, count, caughtUp: undefined })
}
