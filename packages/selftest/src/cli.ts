import { writeFile } from 'node:fs/promises'
import { resolveDialect } from '@sched/core'
import { isSchedError, type Dialect } from '@sched/core/spi'
import { parseCommandLine, usage, type CliRun, type Destination } from './cli-options.ts'
import { probeReport } from './probe-report.ts'
import { describeFailure } from './report/failure.ts'
import { jsonReport } from './report/json.ts'
import { junitReport } from './report/junit.ts'
import { markdownReport } from './report/markdown.ts'
import { exitCode, type Report } from './report/report.ts'
import { terminalReport } from './report/terminal.ts'
import { targetSecrets } from './run/secrets.ts'
import { runConformance } from './runner.ts'
import { packageVersion } from './version.ts'

/** What the command needs of its process. */
export interface Terminal {
  out(text: string): void
  error(text: string): void
  /** Colours and the line of progress are for people. */
  readonly interactive: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

export type ExitCode = 0 | 1 | 2 | 64

/** The command `sched-selftest`. Never rejects. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const command = parseCommandLine(argv, terminal.environment)
  switch (command.kind) {
    case 'help': terminal.out(usage); return 0
    case 'version': terminal.out(`${packageVersion()}\n`); return 0
    case 'usage': terminal.error(`sched-selftest: ${command.message}\n\n${usage}`); return 64
    case 'run': case 'probe': return guarded(command, terminal)
  }
}

async function guarded(command: CliRun, terminal: Terminal): Promise<ExitCode> {
  const secrets = targetSecrets(command.url)
  let dialect: Dialect
  try { dialect = await resolveDialect(command.url, command.dialect === undefined ? {} : { module: command.dialect }) } catch (thrown) {
    terminal.error(`sched-selftest: ${describeFailure(thrown, secrets.redact).message}\n`)
    return isSchedError(thrown) && usageCodes.has(thrown.code) ? 64 : 2
  }
  let code: ExitCode
  try { code = await reported(command, dialect, terminal) } catch (thrown) {
    terminal.error(`sched-selftest: ${describeFailure(thrown, secrets.redact).message}\n`)
    code = 2
  }
  try { await dialect.close() } catch (thrown) {
    terminal.error(`sched-selftest: closing the dialect failed: ${describeFailure(thrown, secrets.redact).message}\n`)
    return code === 0 ? 2 : code
  }
  return code
}

// A URL that cannot be a database is a mistake on the command line.
const usageCodes = new Set(['SCHED_DIALECT_UNKNOWN', 'SCHED_DIALECT_NOT_INSTALLED', 'SCHED_DIALECT_INVALID', 'SCHED_OPTION_INVALID'])

async function reported(command: CliRun, dialect: Dialect, terminal: Terminal): Promise<ExitCode> {
  const { url, cases, allowKill, leaseMs } = command
  const report = command.kind === 'probe'
    ? await probeReport(dialect, { url, signal: terminal.signal })
    : await runConformance(dialect, {
      url, allowKill, leaseMs, signal: terminal.signal, ...(cases === undefined ? {} : { cases }),
      ...(terminal.interactive ? { onResult: ({ id }, done, total) => terminal.error(`\r\u001b[K${done}/${total} ${id}`) } : {}),
    })
  if (terminal.interactive) terminal.error('\r\u001b[K')
  const text = terminalReport(report, { colours: terminal.interactive })
  const documents: readonly [Destination | undefined, (report: Report) => string][] = [[command.json, jsonReport], [command.junit, junitReport], [command.markdown, markdownReport]]
  // A program reads the standard output then; the person looks at the standard error.
  const machine = documents.some(([destination]) => destination?.kind === 'stdout')
  if (machine) terminal.error(text)
  else terminal.out(text)
  for (const [destination, render] of documents) {
    if (destination?.kind === 'stdout') terminal.out(render(report))
    else if (destination?.kind === 'file') await writeFile(destination.path, render(report))
  }
  return exitCode(report)
}

