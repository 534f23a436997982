import { doubtfulEngine, recogniseEngine, refusedEngine, type Engine, type EngineKind } from '@sched/core/spi'

const lockTable = 'Use the lock table (`lockTable(postgres(…))`, URL `locktable+postgres://…`).'

const others: readonly EngineKind[] = [
  {
    product: 'CockroachDB', mark: /CockroachDB/, version: /v(\d[\w.-]*)/,
    // https://github.com/cockroachdb/cockroach/issues/13546, https://github.com/cockroachdb/cockroach/issues/169981
    locks: refusedEngine('its session-level advisory locks answer without locking anything.', lockTable),
    store: doubtfulEngine('the ledger has not been tried on it, and the clocks of its nodes may differ by up to 500 ms (--max-offset): keep the lease at 10 s or more.'),
  },
  {
    product: 'YugabyteDB', mark: /-YB-|YugabyteDB/, version: /-YB-(\d[\w.]*)/,
    // https://github.com/yugabyte/yugabyte-db/issues/3642, https://github.com/yugabyte/yugabyte-db/issues/25756
    locks: refusedEngine('depending on version and flags its advisory locks fail, or answer without locking anything.', lockTable),
    store: doubtfulEngine('the ledger has not been tried on it, and the clocks of its nodes may differ (max_clock_skew_usec): keep the lease at 10 s or more.'),
  },
  {
    product: 'KingbaseES', mark: /Kingbase/i, version: /V(\d[\w.]*)/,
    locks: refusedEngine('its advisory locks have not been tried.', lockTable),
    store: doubtfulEngine('the ledger has not been tried on it.'),
  },
  {
    product: 'openGauss', mark: /openGauss|GaussDB/i, version: /(?:openGauss|GaussDB)\D*(\d[\w.]*)/i,
    locks: refusedEngine('its advisory locks have not been tried.', lockTable),
    store: refusedEngine('it has no INSERT … ON CONFLICT, which the ledger needs.', 'Keep the ledger on PostgreSQL.'),
  },
  {
    product: 'PGlite', mark: /emcc|emscripten/i, version: /^PostgreSQL (\d[\w.]*)/,
    locks: refusedEngine('all its clients share one session, so that every one of them is granted every lock.', 'Use PostgreSQL itself.'),
    store: refusedEngine('all its clients share one session and one transaction.', 'Use PostgreSQL itself, or SQLite.'),
  },
]

/** Reads `version()`. https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SESSION */
export function engineOf(text: string): Engine {
  const version = /^PostgreSQL (\S+)/.exec(text)?.[1]
  return recogniseEngine(text, {
    others, genuine: version === undefined ? undefined : { product: 'PostgreSQL', version },
    remedy: 'Use PostgreSQL, or a dialect made for this server.',
  })
}
