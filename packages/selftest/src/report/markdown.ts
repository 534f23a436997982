import type { CaseResult, Report } from './report.ts'

const marks = { ok: 'ok', fail: '**fail**', 'not-applicable': 'n/a', skipped: 'skipped' } as const

/** A page for people: what was found, and a table of every case. */
export function markdownReport(report: Report): string {
  const { probe, counts, measured } = report
  const lines = [
    `# sched-selftest: ${probe === undefined ? report.dialect : `${probe.product} ${probe.version}`}`, '',
    `Verdict: **${report.verdict}** · dialect \`${report.dialect}\` · locks \`${report.lockType}\`${report.target === undefined ? '' : ` · \`${cell(report.target)}\``}`, '',
    `${counts.executed} of ${counts.total} cases executed: ${counts.ok} ok, ${counts.failed} failed (${counts.failedMust} MUST), ${counts.notApplicable} not applicable, ${counts.skipped} skipped; ${(report.durationMs / 1_000).toFixed(1)} s.`, '',
  ]
  if (measured !== undefined) {
    lines.push(`Opening a connection took ${measured.openMs} ms, a round trip ${measured.roundTripMs} ms${measured.clockOffsetMs === undefined ? '' : `; the database's clock is ${measured.clockOffsetMs} ms ahead of this host's`}.`, '')
  }
  if (probe !== undefined) {
    lines.push('| capability | value |', '|---|---|', ...Object.entries(probe.capabilities).map(([key, value]) => `| ${key} | ${String(value)} |`), '')
    for (const { level, code, message, remedy } of probe.findings) lines.push(`- ${level} \`${code}\`: ${cell(message)} ${cell(remedy)}`)
    if (probe.findings.length > 0) lines.push('')
  }
  for (const { code, message, remedy } of report.problems) lines.push(`- \`${code}\`: ${cell(message)}${remedy === undefined ? '' : ` ${cell(remedy)}`}`)
  for (const note of report.notes) lines.push(`- ${cell(note)}`)
  if (report.problems.length + report.notes.length > 0) lines.push('')
  if (report.cases.length > 0) lines.push('| case | level | | claim | remark |', '|---|---|---|---|---|', ...report.cases.map(row), '')
  return lines.join('\n')
}

function row({ id, level, verdict, title, reason, failure }: CaseResult): string {
  return `| ${id} | ${level} | ${marks[verdict]} | ${cell(title)} | ${cell(failure?.message ?? reason ?? '')} |`
}

function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
