import type { Finding } from './probe.ts'

/** What speaks a database's protocol, by what it says of itself. */
export interface Engine {
  readonly product: string
  readonly version: string
  /** True when it is the database that the dialect is made for (or a build of it), so that its version numbers mean what they say. */
  readonly genuine: boolean
  /** What follows for each use; nothing when it is genuine. */
  readonly findings: { readonly locks: readonly Finding[]; readonly store: readonly Finding[] }
}

/** What is said of an engine once its version is known. */
export type EngineVerdict = (product: string, version: string) => Finding

/** Another engine that speaks the protocol, with what is known of it. */
export interface EngineKind {
  readonly product: string
  /** Occurs in what it says of itself. */
  readonly mark: RegExp
  /** Its first group is the version. */
  readonly version: RegExp
  readonly locks: EngineVerdict
  readonly store: EngineVerdict
}

export interface EngineNames {
  /** Looked for first: what imitates a database often gives the name of that as well. */
  readonly others: readonly EngineKind[]
  /** What the text says of the dialect's own database, undefined when it does not name it. */
  readonly genuine: { readonly product: string; readonly version: string } | undefined
  /** The way out where it is none of them, as a sentence. */
  readonly remedy: string
}

const unknownVersion = '(version unknown)'

/** Unsafe for this use. `what` is the rest of the sentence "this is Product 1.2: …". */
export function refusedEngine(what: string, remedy: string): EngineVerdict {
  return (product, version) => ({ level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `this is ${product} ${version}: ${what}`, remedy })
}

/** Not tried, but nothing speaks against this use. `what` is the rest of the sentence "this is Product 1.2: …". */
export function doubtfulEngine(what: string): EngineVerdict {
  return (product, version) => ({ level: 'warn', code: 'SCHED_UNSAFE_ENGINE', message: `this is ${product} ${version}: ${what}`, remedy: 'Run `sched-selftest` against it before you rely on it.' })
}

/** Tells an engine by what it says of itself. What gives none of the names is refused for every use: never a silent guess. */
export function recogniseEngine(text: string, { others, genuine, remedy }: EngineNames): Engine {
  const kind = others.find(({ mark }) => mark.test(text))
  if (kind !== undefined) {
    const { product } = kind
    const version = kind.version.exec(text)?.[1] ?? unknownVersion
    return { product, version, genuine: false, findings: { locks: [kind.locks(product, version)], store: [kind.store(product, version)] } }
  }
  if (genuine !== undefined) return { ...genuine, genuine: true, findings: { locks: [], store: [] } }
  const unrecognised: Finding = {
    level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `the server calls itself ${JSON.stringify(text.slice(0, 80))}, which this dialect does not know.`, remedy,
  }
  return { product: 'unknown', version: unknownVersion, genuine: false, findings: { locks: [unrecognised], store: [unrecognised] } }
}
