import { parseArgs } from 'node:util'
import { selectCases } from './selection.ts'
import { defaultLeaseMs, shortestLeaseMs } from './run/run-options.ts'
import type { ConformanceCase } from './case.ts'

/** Where a report goes: a file, or the standard output. */
export type Destination = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'stdout' }

export interface CliRun {
  readonly kind: 'run' | 'probe'
  readonly url: string
  readonly dialect: string | undefined
  readonly cases: readonly ConformanceCase[] | undefined
  readonly allowKill: boolean
  readonly leaseMs: number
  readonly json: Destination | undefined
  readonly junit: Destination | undefined
  readonly markdown: Destination | undefined
}

export type CliCommand = CliRun | { readonly kind: 'help' } | { readonly kind: 'version' } | { readonly kind: 'usage'; readonly message: string }

const reports = ['json', 'junit', 'markdown'] as const

export const usage: string = `Usage: sched-selftest [probe] --url <database> [options]

Proves what the locks of a database really do, and says what to do about it.
  probe                what the database is, verdicts and measured round trips; no case is run

  --url <url>          postgres://…, sqlite:./file.db, locktable+postgres://…, … (or SCHED_SELFTEST_URL)
  --dialect <module>   the module that answers the URL, instead of the one its scheme names
  --only <list>        groups or ids, e.g. owner,WAI-03
  --allow-kill         also run the cases that end a server session (one that they opened themselves)
  --lease-ms <n>       the lease of the cases that wait for the end of one (default ${defaultLeaseMs}, at least ${shortestLeaseMs})
  --json [file]        the whole report as JSON; without a file on the standard output
  --junit [file]       for CI
  --markdown [file]    a page
  --help, --version

Exit codes: 0 every MUST holds · 1 a MUST failed, or the set-up is refused as unsafe · 2 unreachable, or the suite could not work · 64 usage
`

/** The command line, checked. Connects to nothing and throws nothing. */
export function parseCommandLine(argv: readonly string[], environment: Readonly<Record<string, string | undefined>> = {}): CliCommand {
  const { plain, destinations, fault } = takeDestinations(argv)
  if (fault !== undefined) return { kind: 'usage', message: fault }
  let parsed
  try {
    parsed = parseArgs({
      args: [...plain], allowPositionals: true, strict: true,
      options: {
        url: { type: 'string' }, dialect: { type: 'string' }, only: { type: 'string' }, 'lease-ms': { type: 'string' },
        'allow-kill': { type: 'boolean' }, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' },
      },
    })
  } catch (error) {
    return { kind: 'usage', message: error instanceof Error ? error.message : String(error) }
  }
  const { values, positionals } = parsed
  if (values.help === true) return { kind: 'help' }
  if (values.version === true) return { kind: 'version' }
  const [command, ...rest] = positionals
  if (rest.length > 0 || (command !== undefined && command !== 'probe')) return { kind: 'usage', message: 'the only command is "probe"; a URL goes behind --url.' }
  const url = values.url ?? environment['SCHED_SELFTEST_URL']
  if (url === undefined || url === '') return { kind: 'usage', message: 'no database: --url <url> is missing.' }
  const leaseMs = values['lease-ms'] === undefined ? defaultLeaseMs : Number(values['lease-ms'])
  if (!Number.isSafeInteger(leaseMs) || leaseMs < shortestLeaseMs || leaseMs > 60_000) {
    return { kind: 'usage', message: `--lease-ms ${values['lease-ms']}: expected a whole number from ${shortestLeaseMs} to 60000.` }
  }
  const selection = values.only === undefined ? undefined : selectCases(values.only.split(','))
  if (selection !== undefined && (selection.unknown.length > 0 || selection.selected.length === 0)) {
    return { kind: 'usage', message: `--only ${values.only}: no case or group is called ${selection.unknown.join(', ') || 'that'}.` }
  }
  return {
    kind: command === 'probe' ? 'probe' : 'run', url, dialect: values.dialect, cases: selection?.selected, allowKill: values['allow-kill'] === true, leaseMs,
    json: destinations.get('json'), junit: destinations.get('junit'), markdown: destinations.get('markdown'),
  }
}

// parseArgs knows no option with an optional value, so those of the reports are taken out first.
function takeDestinations(argv: readonly string[]): { plain: readonly string[]; destinations: ReadonlyMap<string, Destination>; fault?: string } {
  const destinations = new Map<string, Destination>()
  const plain: string[] = []
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? ''
    const report = reports.find((name) => word === `--${name}` || word.startsWith(`--${name}=`))
    if (report === undefined) { plain.push(word); continue }
    const next = argv[index + 1]
    const inline = word.includes('=') ? word.slice(word.indexOf('=') + 1) : undefined
    if (inline === '') return { plain, destinations, fault: `--${report}= names no file.` }
    const path = inline ?? (next === undefined || next.startsWith('-') || next === 'probe' ? undefined : next)
    if (inline === undefined && path !== undefined) index += 1
    destinations.set(report, path === undefined ? { kind: 'stdout' } : { kind: 'file', path })
  }
  if ([...destinations.values()].filter(({ kind }) => kind === 'stdout').length > 1) return { plain, destinations, fault: 'only one report can go to the standard output: name files for the others.' }
  return { plain, destinations }
}
