import type { TaskContext } from '../../executor/task-context.ts'

/** One call of a handler, as its node saw it. Instants are epoch milliseconds of the world's time. */
export interface Run {
  readonly node: string
  readonly task: string
  readonly executionId: string
  readonly fireTime: Date
  readonly attempt: number
  readonly reason: TaskContext['reason']
  readonly owner: string
  readonly fencingToken: number
  readonly startedAt: number
  readonly endedAt: number | undefined
  /** `running` for ever in a node that was killed. */
  readonly outcome: 'running' | 'returned' | 'threw'
  readonly error: unknown
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** What the handlers of all nodes did, in the order in which they were called. */
export class RunJournal {
  readonly runs: Run[] = []
  readonly #worldMs: () => number

  constructor(worldMs: () => number) { this.#worldMs = worldMs }

  /** Calls the handler and writes down how it went; what it throws is thrown on. */
  async keep(node: string, context: TaskContext, handler: () => unknown): Promise<void> {
    const { task, executionId, fireTime, attempt, reason, owner, fencingToken } = context
    const run: Mutable<Run> = {
      node, task, executionId, fireTime, attempt, reason, owner, fencingToken, startedAt: this.#worldMs(), endedAt: undefined, outcome: 'running', error: undefined,
    }
    this.runs.push(run)
    try {
      await handler()
      run.outcome = 'returned'
    } catch (error) {
      run.outcome = 'threw'
      run.error = error
      throw error
    } finally {
      run.endedAt = this.#worldMs()
    }
  }
}
