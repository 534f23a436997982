import { describe, expect, it } from 'vitest'
import { jsonReport } from '../src/report/json.ts'
import { junitReport } from '../src/report/junit.ts'
import { markdownReport } from '../src/report/markdown.ts'
import { countCases, type CaseResult, type Report } from '../src/report/report.ts'
import { terminalReport } from '../src/report/terminal.ts'
import { wellFormed } from './well-formed.ts'

const nasty = 'a < b & "c" ]]> \u0000 \u001b[31m | é\nsecond line'
const cases: readonly CaseResult[] = [
  { id: 'TRY-01', group: 'try', level: 'MUST', title: 'fine', variant: 'case', verdict: 'ok', durationMs: 12 },
  { id: 'TRY-02', group: 'try', level: 'MUST', title: nasty, variant: 'case', verdict: 'fail', failure: { message: nasty, code: 'ERR_X', where: 'cases/try.ts:7' }, durationMs: 5 },
  { id: 'OWN-02', group: 'owner', level: 'MUST', title: 'absent', variant: 'case', verdict: 'not-applicable', reason: 'needs a lease', durationMs: 0 },
  { id: 'LOS-01', group: 'loss', level: 'MUST', title: 'kill', variant: 'case', verdict: 'skipped', reason: 'needs --allow-kill', durationMs: 0 },
]
const report: Report = {
  reportVersion: 1, tool: { name: 'sched-selftest', version: '1.2.3' }, node: 'v24', target: 'postgres://host/db', dialect: 'postgres', lockType: 'postgres:advisory', verdict: 'failed',
  problems: [{ code: 'SELFTEST_RESIDUE', message: 'left <something>', remedy: 'Look & drop.' }], notes: ['a note'], counts: countCases(cases), durationMs: 1_234, cases,
}

describe('the reports', () => {
  it('is JSON as documented', () => {
    expect(JSON.parse(jsonReport(report))).toEqual(JSON.parse(JSON.stringify(report)))
    expect(Object.keys(report.counts).sort()).toEqual(['executed', 'failed', 'failedMust', 'notApplicable', 'ok', 'skipped', 'total'])
  })

  it('is JUnit that a parser accepts, whatever an error says', () => {
    const document = wellFormed(junitReport(report))
    expect(document.filter(({ name }) => name === 'testcase')).toHaveLength(5)
    expect(document.filter(({ name }) => name === 'skipped')).toHaveLength(2)
    expect(document.filter(({ name }) => name === 'failure')).toHaveLength(2)
    expect(document[0]).toMatchObject({ name: 'testsuites', attributes: { tests: '5', failures: '2', errors: '0', skipped: '2', time: '1.234' } })
  })

  it('counts what stopped the run as an error in JUnit', () => {
    const [root] = wellFormed(junitReport({ ...report, verdict: 'unreachable', cases: [], counts: countCases([]) }))
    expect(root?.attributes).toMatchObject({ tests: '1', failures: '0', errors: '1' })
  })

  it('is a page whose table keeps its columns', () => {
    const rows = markdownReport(report).split('\n').filter((line) => /^\| [A-Z]{3}-\d\d /.test(line))
    expect(rows).toHaveLength(4)
    for (const row of rows) expect(row.replaceAll('\\|', '').match(/\|/g)).toHaveLength(6)
  })

  it('tells a person the failures, the reasons for skipping and the verdict, and nothing of what passed', () => {
    const text = terminalReport(report)
    expect(text).toContain('FAIL TRY-02 MUST')
    expect(text).toContain('cases/try.ts:7')
    expect(text).toContain('What to do: Look & drop.')
    expect(text).toContain('skipped (needs --allow-kill): LOS-01')
    expect(text).toContain('not applicable here: OWN-02')
    expect(text).toContain('1 ok, 1 failed (1 MUST), 1 not applicable, 1 skipped, of 4 in 1.2 s')
    expect(text).toContain('FAILED')
    expect(text).not.toContain('TRY-01')
  })

  it('tells a fault that every case runs into once', () => {
    const many = Array.from({ length: 40 }, (_, index): CaseResult => ({ ...cases[1]!, id: `TRY-${index + 10}`, failure: { message: 'the server is gone' } }))
    const text = terminalReport({ ...report, cases: many, counts: countCases(many) })
    expect(text.match(/the server is gone/g)).toHaveLength(1)
    expect(text.split('\n').length).toBeLessThan(20)
    expect(text).toContain('TRY-49')
  })
})
