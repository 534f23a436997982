import type { FaultAction } from './fault-action.ts'
import type { StatementName } from './statement-name.ts'

/** One call on a session, as a fault sees it. */
export interface Step {
  /** The node it comes from. */
  readonly node: string
  readonly purpose: 'pulse' | 'store' | 'transaction' | 'wait' | 'probe'
  /** A statement of the protocol, or what the call does. Undefined for other statements. */
  readonly name: StatementName | SessionCall | undefined
  /** The last statement of the protocol that wrote inside the transaction: what a COMMIT is about. */
  readonly block: StatementName | undefined
  readonly text: string
}

export type SessionCall = 'open' | 'probe' | 'BEGIN' | 'COMMIT' | 'ROLLBACK' | 'ping' | 'lock' | 'unlock' | 'refresh' | 'inspect'

/**
 * A statement or call by name; `finish COMMIT` is the COMMIT of a transaction that finished an execution; a pattern is looked for in the
 * text of the statement; a function decides for itself.
 */
export type FaultPoint = StatementName | SessionCall | `${StatementName} COMMIT` | RegExp | ((step: Step) => boolean)

export interface FaultOptions {
  /** Only calls of this node. */
  readonly node?: string
  /** How often it strikes. Default 1. */
  readonly times?: number
  /** How many such calls go well before. Default 0. */
  readonly after?: number
}

/** A fault that was hung up. */
export interface Fault {
  /** How often it has struck. */
  readonly hits: number
  cancel(): void
}

/** What is to go wrong, and where. */
export interface Faults {
  /** The next call that fits meets `action`. Several may meet one call. */
  before(point: FaultPoint, action: FaultAction, options?: FaultOptions): Fault
  /** Nothing goes wrong any more. */
  clear(): void
}

interface Hung { readonly fits: (step: Step) => boolean; readonly action: FaultAction; left: number; spared: number; hits: number }

export class FaultBoard implements Faults {
  readonly #hung = new Set<Hung>()

  before(point: FaultPoint, action: FaultAction, { node, times = 1, after = 0 }: FaultOptions = {}): Fault {
    const matches = fits(point)
    const hung: Hung = { fits: (step) => (node === undefined || step.node === node) && matches(step), action, left: times, spared: after, hits: 0 }
    this.#hung.add(hung)
    return { get hits() { return hung.hits }, cancel: () => { this.#hung.delete(hung) } }
  }

  clear(): void { this.#hung.clear() }

  /** What this call meets. */
  strike(step: Step): readonly FaultAction[] {
    if (this.#hung.size === 0) return none
    return [...this.#hung].filter((hung) => {
      if (!hung.fits(step)) return false
      if (hung.spared > 0) {
        hung.spared -= 1
        return false
      }
      hung.hits += 1
      hung.left -= 1
      if (hung.left <= 0) this.#hung.delete(hung)
      return true
    }).map(({ action }) => action)
  }
}

const none: readonly FaultAction[] = []

function fits(point: FaultPoint): (step: Step) => boolean {
  if (typeof point === 'function') return point
  if (point instanceof RegExp) return ({ text }) => text.search(point) >= 0
  return ({ name, block }) => name === point || (name === 'COMMIT' && `${block ?? ''} COMMIT` === point)
}
