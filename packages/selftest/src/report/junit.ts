import type { CaseResult, Problem, Report } from './report.ts'

/** JUnit XML: a test suite for each group. What stopped the run, or failed it without a case, is a suite named `run`. */
export function junitReport(report: Report): string {
  const groups = [...new Set(report.cases.map(({ group }) => group))]
  const suites = groups.map((group) => suite(report, group, report.cases.filter((result) => result.group === group).map((result) => caseElement(report, result))))
  if (report.problems.length > 0) suites.push(suite(report, 'run', report.problems.map((problem) => problemElement(report, problem))))
  const name = `sched-selftest ${report.dialect}`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', { name, ...totals(suites), time: seconds(report.durationMs) }, suites.map(({ xml }) => xml))}\n`
}

interface Rendered { readonly xml: string; readonly kind: 'ok' | 'failure' | 'error' | 'skipped'; readonly durationMs: number }
interface Suite { readonly xml: string; readonly counts: Totals }
interface Totals { readonly tests: number; readonly failures: number; readonly errors: number; readonly skipped: number }

function suite(report: Report, group: string, elements: readonly Rendered[]): Suite {
  const count = (kind: Rendered['kind']): number => elements.filter((one) => one.kind === kind).length
  const counts: Totals = { tests: elements.length, failures: count('failure'), errors: count('error'), skipped: count('skipped') }
  const time = seconds(elements.reduce((sum, { durationMs }) => sum + durationMs, 0))
  return { counts, xml: element('testsuite', { name: `${report.dialect}.${group}`, ...counts, time }, elements.map(({ xml }) => xml)) }
}

function totals(suites: readonly Suite[]): Totals {
  const sum = (key: keyof Totals): number => suites.reduce((total, { counts }) => total + counts[key], 0)
  return { tests: sum('tests'), failures: sum('failures'), errors: sum('errors'), skipped: sum('skipped') }
}

function caseElement(report: Report, result: CaseResult): Rendered {
  const { verdict, reason = '', failure, durationMs } = result
  const attributes = { classname: `${report.dialect}.${result.group}`, name: `${result.id} ${result.level} ${result.title}`, time: seconds(durationMs) }
  if (verdict === 'ok') return { kind: 'ok', durationMs, xml: element('testcase', attributes, []) }
  if (verdict !== 'fail') return { kind: 'skipped', durationMs, xml: element('testcase', attributes, [element('skipped', { message: `${verdict}: ${reason}` }, [])]) }
  const text = [failure?.message ?? 'failed', failure?.where].filter((part) => part !== undefined).join('\n')
  return { kind: 'failure', durationMs, xml: element('testcase', attributes, [element('failure', { message: failure?.message ?? 'failed', type: failure?.code ?? result.level }, [escaped(text)])]) }
}

function problemElement(report: Report, { code, message, remedy }: Problem): Rendered {
  const text = remedy === undefined ? message : `${message} ${remedy}`
  const kind = report.verdict === 'refused' || report.verdict === 'failed' ? 'failure' : 'error'
  return { kind, durationMs: 0, xml: element('testcase', { classname: `${report.dialect}.run`, name: code, time: '0.000' }, [element(kind, { message: text, type: code }, [])]) }
}

function element(name: string, attributes: Readonly<Record<string, string | number>>, children: readonly string[]): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join('')
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`
}

// Letters that XML 1.0 does not know at all are shown by their code.
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll('\n', '&#10;')
    // eslint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const seconds = (durationMs: number): string => (durationMs / 1_000).toFixed(3)
