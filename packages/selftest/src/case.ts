import type { CaseContext } from './case-context.ts'
import type { Facts } from './facts.ts'

/** `MUST`: the library is unsafe without it, exit code 1. `SHOULD`: it works, but worse. `MAY`: said for information. */
export type Level = 'MUST' | 'SHOULD' | 'MAY'

/** What a case is about; each group has a prefix of its own in the ids. */
export const groups = {
  connect: 'CON', try: 'TRY', wait: 'WAI', release: 'REL', refresh: 'REF', owner: 'OWN', isHeld: 'HLD', inspect: 'INS', lease: 'LSE',
  fencing: 'FEN', loss: 'LOS', pinning: 'PIN', names: 'NAM', contention: 'CNT', clock: 'CLK', errors: 'ERR', residue: 'RES',
} as const

export type Group = keyof typeof groups

/** A fact that a case needs. It is read from what the probe found: nobody can switch a case off. */
export interface Requirement {
  /** Reads after "not applicable: needs": `a wait inside the server`. */
  readonly name: string
  met(facts: Facts): boolean
}

/** What a case claims, as a sentence, and the code that fails when it is not so. */
export interface CaseBody {
  readonly title: string
  run(context: CaseContext): Promise<void>
}

/** One claim about a dialect. Data: no test runner knows of it, every test runner can run it. */
export interface ConformanceCase extends CaseBody {
  /** Stable: a part of the public contract, like an error code. `OWN-03`. */
  readonly id: string
  readonly group: Group
  readonly level: Level
  /** What the case and its opposite both need: without it the case is not applicable. */
  readonly needs?: Requirement
  readonly requires?: Requirement
  /** What holds where the requirement is not met. Without one the case is reported as not applicable there. */
  readonly opposite?: CaseBody
  /** It ends a server session that it opened itself: only with `--allow-kill`. */
  readonly kills?: boolean
  /** The time it may take, without the leases it waits for. */
  readonly budgetMs: number
  /** How many leases it lives through; each adds `leaseMs` to the budget. */
  readonly leases?: number
}

/** A case without what its group says already. */
export type CaseEntry = Omit<ConformanceCase, 'group' | 'id' | 'budgetMs'> & { readonly budgetMs?: number }

const usualBudgetMs = 20_000

/** The cases of a group, by number. Numbers are never given to another case: a deleted case leaves a hole. */
export function defineGroup(group: Group, entries: Readonly<Record<string, CaseEntry>>): readonly ConformanceCase[] {
  return Object.entries(entries).map(([number, entry]) => ({ budgetMs: usualBudgetMs, ...entry, group, id: `${groups[group]}-${number}` }))
}
