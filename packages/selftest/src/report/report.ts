import type { Finding, LockCapabilities } from '@sched/core/spi'
import type { Group, Level } from '../case.ts'
import type { Failure } from './failure.ts'

/** `not-applicable`: the server has not what the case is about. `skipped`: somebody must allow it first. */
export type Verdict = 'ok' | 'fail' | 'not-applicable' | 'skipped'

export interface CaseResult {
  readonly id: string
  readonly group: Group
  readonly level: Level
  readonly title: string
  /** `opposite`: the requirement is not met here, and what then must hold was checked. */
  readonly variant: 'case' | 'opposite'
  readonly verdict: Verdict
  /** Why it did not run. */
  readonly reason?: string
  readonly failure?: Failure
  readonly durationMs: number
}

/**
 * `passed`: every MUST holds. `failed`: a MUST does not, or nothing was executed. `refused`: the probe found the set-up unsafe.
 * `unreachable`: no answer, or the credentials were refused. `broken`: the suite could not do its work.
 */
export type RunVerdict = 'passed' | 'failed' | 'refused' | 'unreachable' | 'broken'

export interface Problem {
  readonly code: string
  readonly message: string
  readonly remedy?: string
}

export interface Counts {
  readonly total: number
  /** Those with a verdict of ok or fail. */
  readonly executed: number
  readonly ok: number
  readonly failed: number
  readonly failedMust: number
  readonly notApplicable: number
  readonly skipped: number
}

/** What the probe found; absent when it could not ask. */
export interface Product {
  readonly product: string
  readonly version: string
  readonly scope: string
  readonly sharedSessions: boolean
  readonly capabilities: LockCapabilities
  readonly findings: readonly Finding[]
}

export interface Measured {
  readonly openMs: number
  /** The median of some pings. */
  readonly roundTripMs: number
  /** How far the database's clock is ahead of this host's; absent without a store. */
  readonly clockOffsetMs?: number
}

/** The whole outcome of a run. `--json` prints it as it is; its shape is documented in docs/selftest.md and versioned. */
export interface Report {
  readonly reportVersion: 1
  readonly tool: { readonly name: 'sched-selftest'; readonly version: string }
  readonly node: string
  /** The URL without user, password and query. */
  readonly target?: string
  readonly dialect: string
  readonly lockType: string
  readonly probe?: Product
  readonly measured?: Measured
  readonly verdict: RunVerdict
  /** Why it was refused, unreachable, broken, or failed without a failing case. */
  readonly problems: readonly Problem[]
  /** What the report cannot vouch for, e.g. residue without diagnostics. */
  readonly notes: readonly string[]
  readonly counts: Counts
  readonly durationMs: number
  readonly cases: readonly CaseResult[]
}

/** 0 passed, 1 a MUST failed or the set-up is refused, 2 unreachable or broken. */
export function exitCode(report: Pick<Report, 'verdict'>): 0 | 1 | 2 {
  switch (report.verdict) {
    case 'passed': return 0
    case 'failed': case 'refused': return 1
    case 'unreachable': case 'broken': return 2
  }
}

export function countCases(cases: readonly CaseResult[]): Counts {
  const count = (predicate: (result: CaseResult) => boolean): number => cases.filter(predicate).length
  const ok = count(({ verdict }) => verdict === 'ok')
  const failed = count(({ verdict }) => verdict === 'fail')
  return {
    total: cases.length, executed: ok + failed, ok, failed,
    failedMust: count(({ verdict, level }) => verdict === 'fail' && level === 'MUST'),
    notApplicable: count(({ verdict }) => verdict === 'not-applicable'),
    skipped: count(({ verdict }) => verdict === 'skipped'),
  }
}
