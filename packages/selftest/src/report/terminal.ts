import { styleText } from 'node:util'
import type { LockCapabilities } from '@sched/core/spi'
import type { CaseResult, Report } from './report.ts'

/** Where a report is written to; colours only where a person looks. */
export interface TerminalStyle { readonly colours: boolean }

const verdictLines = {
  passed: 'PASSED: every MUST holds.',
  failed: 'FAILED: do not use this set-up for locks.',
  refused: 'REFUSED: this set-up is unsafe for these locks.',
  unreachable: 'UNREACHABLE: the suite could not get in.',
  broken: 'BROKEN: the suite could not do its work; nothing was proven.',
} as const

/** A few lines: what was found, what failed and why, what to do. Cases that passed are only counted. */
export function terminalReport(report: Report, { colours }: TerminalStyle = { colours: false }): string {
  const paint = (format: 'red' | 'green' | 'yellow' | 'bold' | 'dim', text: string): string => (colours ? styleText(format, text, { validateStream: false }) : text)
  const { probe, measured, counts } = report
  const lines = [heading(report)]
  if (probe !== undefined) {
    lines.push(paint('dim', `  locks: ${report.lockType}, ${capabilityText(probe.capabilities)}`))
  }
  if (measured !== undefined) {
    const clock = measured.clockOffsetMs === undefined ? '' : `, database clock ${measured.clockOffsetMs >= 0 ? '+' : ''}${measured.clockOffsetMs} ms`
    lines.push(paint('dim', `  open ${measured.openMs} ms, round trip ${measured.roundTripMs} ms${clock}`))
  }
  for (const { level, code, message, remedy } of probe?.findings ?? []) if (level === 'warn') lines.push(paint('yellow', `  warning ${code}: ${message}`), `    ${remedy}`)
  for (const { code, message, remedy } of report.problems) {
    lines.push(paint('red', `  ${code}: ${message}`))
    if (remedy !== undefined) lines.push(`    What to do: ${remedy}`)
  }
  lines.push(...failures(report, paint))
  for (const note of report.notes) lines.push(paint('dim', `  note: ${note}`))
  lines.push(...notRun(report).map((line) => paint('dim', `  ${line}`)))
  if (counts.total > 0) {
    lines.push(`  ${counts.ok} ok, ${counts.failed} failed (${counts.failedMust} MUST), ${counts.notApplicable} not applicable, ${counts.skipped} skipped, of ${counts.total} in ${(report.durationMs / 1_000).toFixed(1)} s`)
  }
  lines.push(paint(report.verdict === 'passed' ? 'green' : 'red', verdictLines[report.verdict]))
  return `${lines.join('\n')}\n`
}

function capabilityText({ kind, boundedStaleness, serverSideWait, fencing, scope }: LockCapabilities): string {
  return [
    kind === 'session' ? 'tied to a session' : 'leases',
    boundedStaleness ? 'a frozen holder is replaced after its lease' : 'a frozen holder is NOT replaced',
    serverSideWait ? 'waits in the server' : 'polls',
    fencing === 'row' ? 'fencing tokens' : 'no fencing tokens',
    `scope ${scope}`,
  ].join('; ')
}

function heading({ probe, dialect, target }: Report): string {
  const found = probe === undefined ? dialect : `${probe.product} ${probe.version} (${dialect})`
  return target === undefined ? found : `${found} at ${target}`
}

type Paint = (format: 'red' | 'yellow' | 'dim', text: string) => string

const mostFailures = 15

/** Failures by their message: a fault that every case runs into is told once. */
function failures({ cases }: Report, paint: Paint): string[] {
  const byMessage = new Map<string, CaseResult[]>()
  for (const result of cases) {
    if (result.verdict !== 'fail') continue
    const key = result.failure?.message ?? 'failed'
    byMessage.set(key, [...byMessage.get(key) ?? [], result])
  }
  const told = [...byMessage].slice(0, mostFailures).flatMap(([message, results]) => [
    ...results.slice(0, 3).map(({ id, level, title }) => paint(level === 'MUST' ? 'red' : 'yellow', `  FAIL ${id} ${level}: ${title}`)),
    ...(results.length > 3 ? [`    and ${results.slice(3).map(({ id }) => id).join(' ')}`] : []),
    ...message.split('\n').filter((line) => line.trim() !== '').slice(0, 12).map((line) => `    ${line}`),
    ...results.flatMap(({ failure }) => failure?.where ?? []).slice(0, 1).map((where) => paint('dim', `    ${where}`)),
  ])
  const untold = [...byMessage.values()].slice(mostFailures).flatMap((results) => results.map(({ id }) => id))
  return untold.length === 0 ? told : [...told, `  and for other reasons: ${untold.join(' ')} (--json has them all)`]
}

/** What was skipped with its reason, so that somebody may allow it; what does not apply is only named. */
function notRun({ cases }: Report): string[] {
  const skipped = new Map<string, string[]>()
  for (const { id, verdict, reason = '' } of cases) if (verdict === 'skipped') skipped.set(reason, [...skipped.get(reason) ?? [], id])
  const absent = cases.filter(({ verdict }) => verdict === 'not-applicable').map(({ id }) => id)
  return [...[...skipped].map(([reason, ids]) => `skipped (${reason}): ${ids.join(' ')}`), ...(absent.length === 0 ? [] : [`not applicable here: ${absent.join(' ')}`])]
}
