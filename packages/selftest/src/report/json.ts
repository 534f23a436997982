import type { Report } from './report.ts'

/** The report as it is; docs/selftest.md describes the shape. */
export function jsonReport(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`
}
