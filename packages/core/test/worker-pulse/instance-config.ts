import type { SchedulerOptions } from '../../src/executor/scheduler-options.ts'
import type { TaskOptions } from '../../src/executor/task-definition.ts'

/**
 * What a handler of a child process does in a first attempt: a recovered run just ends. All but `block` do it once in the life of the
 * process, so that the runs that follow are short.
 */
export type HandlerConfig =
  /** Holds the event loop, then looks at its signal. */
  | { readonly do: 'block'; readonly ms: number }
  /** Holds the event loop until it sees its signal aborted, for so long at most. */
  | { readonly do: 'spin'; readonly ms: number }
  /** Holds the event loop for ever. */
  | { readonly do: 'endless' }
  /** Works, and looks at its signal every 20 ms until it has aborted. */
  | { readonly do: 'watch'; readonly ms: number }

/** What an instance is started with, as JSON. */
export interface InstanceConfig {
  readonly url: string
  readonly options: Omit<SchedulerOptions, 'dialect' | 'url' | 'locks' | 'clock' | 'random' | 'log'>
  readonly task: { readonly options: TaskOptions; readonly handler: HandlerConfig }
}

/** What an instance is told on its stdin. */
export type Command = 'stop' | 'terminate-thread' | 'exit-thread' | 'hang-thread'

/** A line of an instance's journal. `at` is real time. */
export interface JournalLine {
  readonly kind: 'started' | 'refused' | 'start' | 'end' | 'look' | 'event' | 'ended'
  readonly at: number
  readonly event?: string
  readonly fireTime?: number
  readonly attempt?: number
  readonly owner?: string
  readonly fencingToken?: number
  readonly aborted?: boolean
  readonly afterMs?: number
  readonly nodeId?: string
  readonly reason?: { readonly code?: string; readonly message: string } | string
  readonly error?: { readonly code?: string; readonly message: string }
  readonly code?: string
  readonly message?: string
  readonly remedy?: string
}
