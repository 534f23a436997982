import { mock } from 'node:test'
import { CronExpressionParser } from 'cron-parser'
import { Cron } from 'croner'
import { createTask } from 'node-cron'
// The compiled form is internal to core; with `fireTimes` the walk would be timed by its array.
import { compileSchedule } from '../../packages/core/src/schedule/schedule.ts'

/** One library, asked for the fire times that follow an instant. */
export interface Engine {
  readonly name: string
  /** Up to `count` fire times later than `after`, in the order in which the library gives them. Throws what the library throws. */
  fireTimes(expression: string, timeZone: string, after: number, count: number): number[]
}

export const ours: Engine = {
  name: '@sched/core',
  fireTimes(expression, timeZone, after, count) {
    const schedule = compileSchedule({ cron: expression, timeZone })
    return walk(after, count, (at) => schedule.next(at))
  },
}

export const croner: Engine = {
  name: 'croner',
  fireTimes(expression, timeZone, after, count) {
    const cron = new Cron(expression, { timezone: timeZone, paused: true })
    return walk(after, count, (at) => cron.nextRun(new Date(at))?.getTime() ?? null)
  },
}

export const cronParser: Engine = {
  name: 'cron-parser',
  fireTimes(expression, timeZone, after, count) {
    const iterator = CronExpressionParser.parse(expression, { tz: timeZone, currentDate: new Date(after) })
    return walk(after, count, () => iterator.next().getTime())
  },
}

export const nodeCron: Engine = {
  name: 'node-cron',
  fireTimes(expression, timeZone, after, count) {
    // It only answers for now, so now is made to be `after`.
    mock.timers.enable({ apis: ['Date'], now: after })
    try {
      return createTask(expression, () => undefined, { timezone: timeZone }).getNextRuns(count).map((time) => time.getTime())
    } finally {
      mock.timers.reset()
    }
  },
}

export const engines: readonly Engine[] = [ours, croner, cronParser, nodeCron]

function walk(after: number, count: number, next: (at: number) => number | null): number[] {
  const times: number[] = []
  for (let at = next(after); at !== null; at = next(at)) {
    times.push(at)
    if (times.length >= count) break
  }
  return times
}
