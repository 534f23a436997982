import { gateTaken } from '../ledger/start.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import type { AcquireOutcome } from './events.ts'
import type { Executor } from './executor.ts'
import type { VetoHold } from './veto.ts'

const pauseMs = 25
const outsiderTries = 4

/**
 * The veto lock of a task. With the gate taken (`busy`) it is not asked for. The gate is free a moment before the lock, since finish comes
 * before release: so a refusal counts only when it lasts, and one by a member of this cluster is waited for up to a heartbeat.
 */
export async function takeVeto(executor: Executor, task: string): Promise<VetoHold | 'busy' | 'refused' | undefined> {
  const { veto, clock, events } = executor
  if (veto === undefined) return undefined
  const watch = startStopwatch(clock)
  const tell = (outcome: AcquireOutcome): void => events.emit('lock.acquire', { task, kind: 'veto', outcome, durationMs: watch.elapsedMs() })
  try {
    const hold = await untilItLasts(executor, task)
    tell(typeof hold === 'string' ? 'refused' : 'acquired')
    return hold
  } catch (error) {
    tell('failed')
    throw error
  }
}

async function untilItLasts({ ledger, veto, clock, heartbeatMs }: Executor, task: string): Promise<VetoHold | 'busy' | 'refused'> {
  const watch = startStopwatch(clock)
  for (let tries = 1; ; tries += 1) {
    if (await gateTaken(ledger, task)) return 'busy'
    const hold = await veto?.take(task)
    if (hold !== undefined && hold !== 'refused') return hold
    if (tries >= outsiderTries) {
      // The sessions of the cluster carry its label; nobody holds it any more when there is no holder.
      const holder = await veto?.holder(task)
      const member = holder === null || holder?.ownerLabel?.startsWith(`sched:${ledger.namespace}:`) === true
      if (!member || watch.elapsedMs() > heartbeatMs) return await gateTaken(ledger, task) ? 'busy' : 'refused'
    }
    await sleep(clock, pauseMs)
  }
}
