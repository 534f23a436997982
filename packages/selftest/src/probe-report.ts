import { randomBytes } from 'node:crypto'
import type { Dialect, OpenOptions } from '@sched/core/spi'
import { countCases, type Measured, type Product, type Report } from './report/report.ts'
import { runTables } from './run/lock-table.ts'
import { quietLeaseMs } from './run/scene.ts'
import { targetSecrets } from './run/secrets.ts'
import { refusedBy, startFailure } from './run/start-failure.ts'
import { measured, probed, productOf } from './run/survey.ts'
import { packageVersion } from './version.ts'

/** What the database is and how fast it answers: the beginning of a run, without the cases. */
export async function probeReport(dialect: Dialect, { url, signal }: { url: string; signal: AbortSignal }): Promise<Report> {
  const startedAt = performance.now()
  const secrets = targetSecrets(url)
  const letters = randomBytes(3).toString('hex')
  // Named, not created: the probe changes nothing.
  const tables = runTables(dialect, `st_${letters}_`)
  const options: OpenOptions = { signal, leaseMs: quietLeaseMs, label: `sched:selftest-${letters}:probe`, ...(tables === undefined ? {} : { tables }) }
  const finish = (parts: Pick<Report, 'verdict' | 'problems'> & Partial<Report>): Report => ({
    reportVersion: 1, tool: { name: 'sched-selftest', version: packageVersion() }, node: process.version, ...(secrets.shown === undefined ? {} : { target: secrets.shown }),
    dialect: dialect.name, lockType: dialect.locks.lockType, notes: ['Only the probe was run: no case was executed.'], cases: [], counts: countCases([]),
    durationMs: Math.round(performance.now() - startedAt), ...parts,
  })
  let probe: Product | undefined
  let figures: Measured | undefined
  try {
    const answer = await probed(dialect, options)
    probe = productOf(answer, secrets)
    const refusals = probe.findings.filter(({ level }) => level === 'refuse')
    if (refusals.length > 0) throw refusedBy(refusals, probe)
    const survey = await measured(dialect, { ...options, sharedSessions: answer.sharedSessions }, answer.sharedSessions)
    survey.connection.destroy()
    figures = survey.measured
  } catch (thrown) {
    const { verdict, problems } = startFailure(dialect, thrown, secrets)
    return finish({ verdict, problems, ...(probe === undefined ? {} : { probe }) })
  }
  return finish({ verdict: 'passed', problems: [], probe, measured: figures })
}
