import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskContext } from '../../src/executor/task-context.ts'
import type { TaskHandler } from '../../src/executor/task-definition.ts'
import { execute } from './driver-client.ts'
import type { HandlerConfig } from './instance-config.ts'
import { closeOrders } from './order-close.ts'

const lookEveryMs = 20

/** What a task of a child process does. Each attempt says `start` and, if it comes to that, `end`. */
export function handlerOf(config: HandlerConfig, task: string, say: (line: object) => void): TaskHandler {
  return async (context) => {
    const { fireTime, attempt, owner, fencingToken, reason } = context
    const about = { task, fireTime: fireTime.getTime(), attempt, owner, fencingToken, reason }
    say({ kind: 'start', ...about, lateMs: context.lateMs })
    try {
      await act(config, context, (line) => { say({ ...about, ...line }) })
      say({ kind: 'end', ...about })
    } catch (error) {
      say({ kind: 'end', ...about, error: (error as Error).message, code: (error as { code?: string }).code })
      throw error
    }
  }
}

async function act(config: HandlerConfig, context: TaskContext, say: (line: object) => void): Promise<void> {
  switch (config.do) {
    case 'work': return sleepUnless(config.ms, context.signal)
    case 'watch': return watch(config.ms, context.signal, say)
    case 'ignore': return void await Promise.race([sleep(config.ms), once(process, 'SIGUSR2')])
    case 'fail':
      if (context.attempt <= config.times) throw new Error('told to fail')
      return
    case 'die': {
      if (context.attempt <= config.times) process.kill(process.pid, 'SIGKILL')
      return
    }
    case 'block': {
      if (context.attempt > 1) return
      // What no handler should do: hold the event loop.
      const until = performance.now() + config.ms
      while (performance.now() < until);
      say({ kind: 'look', aborted: context.signal.aborted })
      return
    }
    case 'transaction': return context.transaction((client) => execute(client, `INSERT INTO effects (fire_time, attempt, pid) VALUES (${context.fireTime.getTime()}, ${context.attempt}, ${process.pid})`))
    case 'close-orders': return closeOrders(context, config)
  }
}

/** Ends early, as a well-behaved handler does. */
async function sleepUnless(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => { signal.throwIfAborted(); throw error })
}

/** Looks at its signal again and again; says what the first look showed after time had been lost. */
async function watch(ms: number, signal: AbortSignal, say: (line: object) => void): Promise<void> {
  const began = performance.now()
  for (let last = began; performance.now() - began < ms;) {
    await sleep(lookEveryMs)
    const { aborted } = signal // the look itself, before anything else
    const now = performance.now()
    const lostMs = now - last
    last = now
    if (lostMs > 500 || aborted) say({ kind: 'look', aborted, lostMs })
    if (aborted) return
  }
}
