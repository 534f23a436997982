import type { Dialect } from '@sched/core/spi'
import type { ConformanceCase } from './case.ts'
import { conformanceCases } from './cases/index.ts'
import { describeFailure } from './report/failure.ts'
import { countCases, type CaseResult, type Problem, type Report, type RunVerdict } from './report/report.ts'
import { ConformanceRun } from './run/conformance-run.ts'
import type { RunOptions } from './run/run-options.ts'
import { targetSecrets } from './run/secrets.ts'
import { StartFailure } from './run/start-failure.ts'
import { packageVersion } from './version.ts'

export interface ConformanceOptions extends RunOptions {
  /** Default: all of them. */
  readonly cases?: readonly ConformanceCase[]
  /** Called after each case. */
  onResult?(result: CaseResult, done: number, total: number): void
}

/** Runs the suite on a dialect. Never rejects for what the dialect or the database does: that is in the report. */
export async function runConformance(dialect: Dialect, options: ConformanceOptions = {}): Promise<Report> {
  const startedAt = performance.now()
  const { cases = conformanceCases, signal } = options
  const base = baseReport(dialect, options)
  const finish = (parts: Partial<Report> & { verdict: RunVerdict }): Report => {
    const results = parts.cases ?? []
    return { ...base, ...parts, cases: results, counts: countCases(results), durationMs: Math.round(performance.now() - startedAt) }
  }
  let run: ConformanceRun
  try { run = await ConformanceRun.start(dialect, options) } catch (thrown) {
    if (!(thrown instanceof StartFailure)) throw thrown
    const { verdict, problems, probe } = thrown
    return finish({ verdict, problems, ...(probe === undefined ? {} : { probe }) })
  }
  const results: CaseResult[] = []
  for (const testCase of cases) {
    if (signal?.aborted === true) break
    const result = await run.run(testCase)
    results.push(result)
    options.onResult?.(result, results.length, cases.length)
  }
  const problems = await closed(run)
  const { verdict, problem } = verdictOf(results, signal?.aborted === true)
  if (problem !== undefined) problems.unshift(problem)
  const failed = problems.length > 0 && verdict === 'passed' ? 'broken' : verdict
  return finish({ verdict: failed, problems, probe: run.probe, measured: run.measured, notes: run.notes, cases: results })
}

function baseReport(dialect: Dialect, { url }: RunOptions): Omit<Report, 'verdict' | 'counts' | 'durationMs' | 'cases'> {
  const { shown } = targetSecrets(url)
  return {
    reportVersion: 1, tool: { name: 'sched-selftest', version: packageVersion() }, node: process.version, ...(shown === undefined ? {} : { target: shown }),
    dialect: dialect.name, lockType: dialect.locks.lockType, problems: [], notes: [],
  }
}

async function closed(run: ConformanceRun): Promise<Problem[]> {
  try { return (await run.close()).map((message) => ({ code: 'SELFTEST_RESIDUE', message })) } catch (thrown) {
    return [{ code: 'SELFTEST_BROKEN', message: describeFailure(thrown, (text) => text).message }]
  }
}

function verdictOf(results: readonly CaseResult[], interrupted: boolean): { verdict: RunVerdict; problem?: Problem } {
  if (interrupted) return { verdict: 'broken', problem: { code: 'SELFTEST_INTERRUPTED', message: 'the run was interrupted; what it had opened was given back.' } }
  const { executed, failedMust } = countCases(results)
  if (executed === 0) return { verdict: 'failed', problem: { code: 'SELFTEST_NOTHING_EXECUTED', message: 'no case was executed: nothing was proven.' } }
  return { verdict: failedMust > 0 ? 'failed' : 'passed' }
}
