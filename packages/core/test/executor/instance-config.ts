import type { SchedulerOptions } from '../../src/executor/scheduler-options.ts'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import type { Product } from '../ledger/connector.ts'
import type { FreezePoint } from './freeze-in-transaction.ts'

/** What a handler of a child process does. */
export type HandlerConfig =
  /** Works for a while and ends at once when its signal aborts. */
  | { readonly do: 'work'; readonly ms: number }
  /** Works and looks at its signal every 20 ms; returns when it has aborted. */
  | { readonly do: 'watch'; readonly ms: number }
  /** Works and never looks at its signal; SIGUSR2 lets it come to its end. */
  | { readonly do: 'ignore'; readonly ms: number }
  /** Throws in its first attempts. */
  | { readonly do: 'fail'; readonly times: number }
  /** Kills its own process in its first attempts. */
  | { readonly do: 'die'; readonly times: number }
  /** Holds the event loop in its first attempt. */
  | { readonly do: 'block'; readonly ms: number }
  /** Writes a row into `effects` by `ctx.transaction`. */
  | { readonly do: 'transaction' }
  /** Reads all open orders and closes the first of them by `ctx.transaction`. */
  | { readonly do: 'close-orders'; readonly portion: number; readonly pauseMs: number }

export interface TaskConfig { readonly name: string; readonly options: TaskOptions; readonly handler: HandlerConfig }

/** What an instance is started with, as JSON. */
export interface InstanceConfig {
  readonly product: Product
  /** A file, or a URL. */
  readonly address: string
  readonly options: Omit<SchedulerOptions, 'dialect' | 'url' | 'locks' | 'clock' | 'random' | 'log'>
  readonly tasks: readonly TaskConfig[]
  readonly freeze?: FreezePoint
}

/** A line of an instance's journal. `at` is real time, whatever its `Date` says. */
export interface JournalLine {
  readonly kind: 'started' | 'refused' | 'start' | 'end' | 'look' | 'frozen' | 'event' | 'ended'
  readonly at: number
  readonly event?: string
  readonly task?: string
  readonly fireTime?: number
  readonly attempt?: number
  readonly owner?: string
  readonly fencingToken?: number
  readonly reason?: unknown
  readonly aborted?: boolean
  readonly lostMs?: number
  readonly lateMs?: number
  readonly nodeId?: string
  readonly pid?: number
  readonly error?: { readonly code?: string; readonly message: string } | string
  readonly code?: string
  readonly message?: string
}
