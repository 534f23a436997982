import type { Finding } from '@sched/core/spi'

/** What speaks PostgreSQL's protocol, by what it says of itself. */
export interface Engine {
  readonly product: string
  readonly version: string
  /** True when it is PostgreSQL, so that its version numbers mean what they say. */
  readonly genuine: boolean
  readonly findings: { readonly locks: readonly Finding[]; readonly store: readonly Finding[] }
}

type Verdict = (product: string, version: string) => Finding

interface Kind {
  readonly product: string
  readonly mark: RegExp
  /** Its first group is the version. */
  readonly version: RegExp
  readonly locks: Verdict
  readonly store: Verdict
}

const lockTable = 'Use the lock table (`lockTable(postgres(…))`, URL `locktable+postgres://…`).'
const notTried = 'Run `sched-selftest` against it before you rely on it.'

const refused = (what: string, remedy: string): Verdict => (product, version) => ({ level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `this is ${product} ${version}: ${what}`, remedy })
const doubtful = (what: string): Verdict => (product, version) => ({ level: 'warn', code: 'SCHED_UNSAFE_ENGINE', message: `this is ${product} ${version}: ${what}`, remedy: notTried })

const kinds: readonly Kind[] = [
  {
    product: 'CockroachDB', mark: /CockroachDB/, version: /v(\d[\w.-]*)/,
    // https://github.com/cockroachdb/cockroach/issues/13546, https://github.com/cockroachdb/cockroach/issues/169981
    locks: refused('its session-level advisory locks answer without locking anything.', lockTable),
    store: doubtful('the ledger has not been tried on it, and the clocks of its nodes may differ by up to 500 ms (--max-offset): keep the lease at 10 s or more.'),
  },
  {
    product: 'YugabyteDB', mark: /-YB-|YugabyteDB/, version: /-YB-(\d[\w.]*)/,
    // https://github.com/yugabyte/yugabyte-db/issues/3642, https://github.com/yugabyte/yugabyte-db/issues/25756
    locks: refused('depending on version and flags its advisory locks fail, or answer without locking anything.', lockTable),
    store: doubtful('the ledger has not been tried on it, and the clocks of its nodes may differ (max_clock_skew_usec): keep the lease at 10 s or more.'),
  },
  {
    product: 'KingbaseES', mark: /Kingbase/i, version: /V(\d[\w.]*)/,
    locks: refused('its advisory locks have not been tried.', lockTable),
    store: doubtful('the ledger has not been tried on it.'),
  },
  {
    product: 'openGauss', mark: /openGauss|GaussDB/i, version: /(?:openGauss|GaussDB)\D*(\d[\w.]*)/i,
    locks: refused('its advisory locks have not been tried.', lockTable),
    store: refused('it has no INSERT … ON CONFLICT, which the ledger needs.', 'Keep the ledger on PostgreSQL.'),
  },
  {
    product: 'PGlite', mark: /emcc|emscripten/i, version: /^PostgreSQL (\d[\w.]*)/,
    locks: refused('all its clients share one session, so that every one of them is granted every lock.', 'Use PostgreSQL itself.'),
    store: refused('all its clients share one session and one transaction.', 'Use PostgreSQL itself, or SQLite.'),
  },
]

/**
 * Reads `version()`. https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SESSION
 * What does not call itself PostgreSQL, and is none of those above, is refused: never a silent guess.
 */
export function engineOf(text: string): Engine {
  const kind = kinds.find(({ mark }) => mark.test(text))
  if (kind !== undefined) {
    const version = kind.version.exec(text)?.[1] ?? '(version unknown)'
    const { product } = kind
    return { product, version, genuine: false, findings: { locks: [kind.locks(product, version)], store: [kind.store(product, version)] } }
  }
  const version = /^PostgreSQL (\S+)/.exec(text)?.[1]
  if (version !== undefined) return { product: 'PostgreSQL', version, genuine: true, findings: { locks: [], store: [] } }
  const unrecognised: Finding = {
    level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `the server calls itself ${JSON.stringify(text.slice(0, 80))}, which this dialect does not know.`,
    remedy: 'Use PostgreSQL, or a dialect made for this server.',
  }
  return { product: 'unknown', version: '(version unknown)', genuine: false, findings: { locks: [unrecognised], store: [unrecognised] } }
}
