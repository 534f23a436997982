/** The part of vitest's JSON report that is counted here. */
export interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly { readonly status: string, readonly assertionResults: readonly { readonly status: string }[] }[]
}

export interface TestCount { readonly passed: number, readonly failed: number, readonly skipped: number }

/** Tests, not files; only a file that failed without a failing test (it could not be loaded, a hook threw) counts as one failure. */
export function countTests(report: VitestReport | undefined): TestCount {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 }
  const brokenFiles = report.testResults.filter(({ status, assertionResults }) =>
    status === 'failed' && !assertionResults.some((test) => test.status === 'failed')).length
  return { passed: report.numPassedTests, failed: report.numFailedTests + brokenFiles, skipped: report.numPendingTests + report.numTodoTests }
}
