import type { Dialect, Finding } from '@sched/core/spi'
import { isSchedError } from '@sched/core/spi'
import { describeFailure } from '../report/failure.ts'
import type { Problem, Product, RunVerdict } from '../report/report.ts'
import type { TargetSecrets } from './secrets.ts'

/** A run that could not begin, and what that says about the target. */
export class StartFailure extends Error {
  override readonly name: string = 'StartFailure'
  readonly verdict: Exclude<RunVerdict, 'passed' | 'failed'>
  readonly problems: readonly Problem[]
  readonly probe: Product | undefined

  constructor(verdict: Exclude<RunVerdict, 'passed' | 'failed'>, problems: readonly Problem[], probe?: Product) {
    super(problems.map(({ code, message }) => `${code}: ${message}`).join('; '))
    this.verdict = verdict
    this.problems = problems
    this.probe = probe
  }
}

export function refusedBy(findings: readonly Finding[], probe: Product): StartFailure {
  return new StartFailure('refused', findings.map(({ code, message, remedy }) => ({ code, message, remedy })), probe)
}

const unreachableClasses = new Set(['connection-lost', 'authentication', 'query-timeout', 'resource-exhausted'])
const unreachableCodes = new Set(['SCHED_DATABASE_UNREACHABLE', 'SCHED_AUTHENTICATION', 'SCHED_SESSION_LOST', 'SCHED_QUERY_TIMEOUT'])
const remedies: Readonly<Record<string, string>> = {
  authentication: 'Check user, password and database name.',
  'connection-lost': 'Check host, port and network, and that the server runs.',
  'query-timeout': 'Look for a frozen server or a network that drops packets.',
  'resource-exhausted': 'The server is out of connections or memory.',
}
const codes: Readonly<Record<string, string>> = {
  authentication: 'SCHED_AUTHENTICATION', 'query-timeout': 'SCHED_QUERY_TIMEOUT', 'resource-exhausted': 'SCHED_RESOURCE_EXHAUSTED',
}

/** What an error before the first case means. */
export function startFailure(dialect: Dialect, thrown: unknown, secrets: TargetSecrets, probe?: Product): StartFailure {
  if (thrown instanceof StartFailure) return thrown
  const { message } = describeFailure(thrown, secrets.redact)
  if (isSchedError(thrown)) {
    const verdict = unreachableCodes.has(thrown.code) ? 'unreachable' : 'broken'
    const remedy = thrown.remedy === undefined || message.includes(thrown.remedy) ? {} : { remedy: thrown.remedy }
    return new StartFailure(verdict, [{ code: thrown.code, message: message.replace(`${thrown.code}: `, ''), ...remedy }], probe)
  }
  const errorClass = dialect.locks.classify(thrown)
  if (!unreachableClasses.has(errorClass)) return new StartFailure('broken', [{ code: 'SELFTEST_BROKEN', message: `${message} (class ${errorClass})` }], probe)
  const remedy = remedies[errorClass]
  return new StartFailure('unreachable', [{ code: codes[errorClass] ?? 'SCHED_DATABASE_UNREACHABLE', message, ...(remedy === undefined ? {} : { remedy }) }], probe)
}
