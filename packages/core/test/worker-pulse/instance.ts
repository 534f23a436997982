// One instance of a service, as a process: `instance.ts <InstanceConfig as JSON>`. Journals every attempt and every event as a JSON
// line. Lines on stdin are commands.
import { tellThread, terminateThread } from './seen-threads.ts'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createScheduler } from '../../src/executor/scheduler.ts'
import type { EventName } from '../../src/executor/events.ts'
import type { TaskContext } from '../../src/executor/task-context.ts'
import type { Command, InstanceConfig } from './instance-config.ts'

const { url, options, task } = JSON.parse(process.argv[2] ?? '{}') as InstanceConfig
const at = (): number => performance.timeOrigin + performance.now()
const say = (line: object): void => { process.stdout.write(`${JSON.stringify({ at: at(), ...line })}\n`) }
const scheduler = createScheduler({ url, namespace: 'test', lockVeto: 'off', ...options })

const nothing = new Int32Array(new SharedArrayBuffer(4))

/** Holds the event loop without holding a core. */
function holdTheLoop(ms: number): void { Atomics.wait(nothing, 0, 0, ms) }

let acted = false

async function act({ signal }: TaskContext, tell: (line: object) => void): Promise<void> {
  const { handler } = task
  const began = performance.now()
  const passedMs = (): number => performance.now() - began
  switch (handler.do) {
    case 'block': {
      holdTheLoop(handler.ms)
      tell({ kind: 'look', aborted: signal.aborted, afterMs: passedMs() })
      return
    }
    case 'spin': {
      while (!signal.aborted && passedMs() < handler.ms) holdTheLoop(5)
      tell({ kind: 'look', aborted: signal.aborted, afterMs: passedMs() })
      return
    }
    case 'endless': for (;;) holdTheLoop(100)
    case 'watch': {
      for (let last = began; passedMs() < handler.ms;) {
        await sleep(20)
        const { aborted } = signal // the look itself, before anything else
        const afterMs = performance.now() - last
        last = performance.now()
        if (aborted || afterMs > 500) tell({ kind: 'look', aborted, afterMs })
        if (aborted) return
      }
    }
  }
}

scheduler.task('job', task.options, async (context) => {
  const { fireTime, attempt, owner, fencingToken, reason } = context
  const about = { fireTime: fireTime.getTime(), attempt, owner, fencingToken }
  say({ kind: 'start', reason, ...about })
  const acts = attempt === 1 && (task.handler.do === 'block' || !acted)
  acted ||= acts
  if (acts) await act(context, (line: object) => { say({ ...about, ...line }) })
  say({ kind: 'end', ...about })
})

const events: readonly EventName[] = ['error', 'warning', 'node.lost', 'node.registered', 'heartbeat', 'heartbeat.failed', 'loop.blocked', 'execution.started', 'execution.succeeded', 'execution.failed',
  'execution.retry', 'execution.fenced', 'execution.recovered', 'task.stuck', 'lock.foreign', 'slot.skipped']
for (const name of events) {
  scheduler.on(name, (event) => {
    // An Error is empty as JSON.
    const shown = Object.entries(event).map(([key, value]) => [key, value instanceof Error ? { code: (value as { code?: string }).code, message: value.message } : value as unknown])
    say({ kind: 'event', event: name, ...Object.fromEntries(shown) as object })
  })
}
scheduler.on('started', ({ nodeId }) => { say({ kind: 'started', nodeId }) })

const commands: Record<Command, () => void> = {
  stop: () => {
    process.stdin.destroy()
    void scheduler.stop().then(() => { say({ kind: 'ended' }) })
  },
  'terminate-thread': () => { void terminateThread() },
  'exit-thread': () => { tellThread('exit') },
  'hang-thread': () => { tellThread('hang') },
}
createInterface({ input: process.stdin }).on('line', (line) => { commands[JSON.parse(line) as Command]() })

try {
  await scheduler.start()
} catch (error) {
  const { code, remedy } = error as { code?: string; remedy?: string }
  say({ kind: 'refused', code, remedy, message: (error as Error).message })
  process.stdin.destroy()
  await scheduler.stop()
}
