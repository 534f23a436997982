import type { Finding } from '@sched/core/spi'

/** What speaks MySQL's protocol, by what it says of itself. */
export interface Engine {
  readonly product: string
  readonly version: string
  /** True when it is MySQL or MariaDB (or a build of one), so that its version numbers mean what they say. */
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

const lockTable = 'Use the lock table (`lockTable(mysql(…))`, URL `locktable+mysql://…`).'
const ownServer = 'Use MySQL or MariaDB.'
const notTried = 'Run `sched-selftest` against it before you rely on it.'

const refused = (what: string, remedy: string): Verdict => (product, version) => ({ level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `this is ${product} ${version}: ${what}`, remedy })
const doubtful = (what: string): Verdict => (product, version) => ({ level: 'warn', code: 'SCHED_UNSAFE_ENGINE', message: `this is ${product} ${version}: ${what}`, remedy: notTried })

/** None of these was at hand: the verdicts follow their documentation, and only the names were tried, against a stand-in. */
const kinds: readonly Kind[] = [
  {
    product: 'TiDB', mark: /tidb/i, version: /TiDB-v?(\d[\w.]*)/i,
    // https://docs.pingcap.com/tidb/stable/locking-functions/
    locks: refused('its user-level locks differ: waits are 1 to 3,600 s, IS_USED_LOCK does not name the holder, and the session has no limit that would end them.', lockTable),
    store: doubtful('the ledger has not been tried on it.'),
  },
  {
    product: 'Vitess', mark: /vitess/i, version: /Vitess[^\d]*(\d[\w.]*)/i,
    // https://vitess.io/docs/reference/compatibility/mysql-compatibility/
    locks: refused('a lock needs a reserved connection to one shard, which may be taken away.', lockTable),
    store: refused('its transactions and unique keys reach over one shard only.', ownServer),
  },
  {
    product: 'OceanBase', mark: /oceanbase/i, version: /OceanBase[^\d]*(\d[\w.]*)/i,
    locks: refused('GET_LOCK depends on its proxy, and has not been tried.', lockTable),
    store: doubtful('the ledger has not been tried on it.'),
  },
  {
    product: 'PolarDB-X', mark: /TDDL|PolarDB-X/i, version: /(?:TDDL|PXC|X-Cluster)[^\d]*(\d[\w.]*)/i,
    locks: refused('its locks have not been tried.', lockTable),
    store: doubtful('the ledger has not been tried on it.'),
  },
  {
    product: 'SingleStore', mark: /memsql|singlestore/i, version: /(?:MemSQL|SingleStore)[^\d]*(\d[\w.]*)/i,
    locks: refused('it has no GET_LOCK.', ownServer),
    store: refused('its unique keys are bound to shards.', ownServer),
  },
  {
    product: 'Dolt', mark: /dolt/i, version: /Dolt[^\d]*(\d[\w.]*)/i,
    locks: refused('its locks have not been tried.', lockTable),
    store: refused('concurrent transactions are merged, not serialised.', ownServer),
  },
  {
    product: 'ProxySQL', mark: /proxysql/i, version: /ProxySQL[^\d]*(\d[\w.]*)/i,
    locks: refused('statements of one client run on sessions of several, and the limits of our sessions do not reach the server.', 'Connect to the server itself, or use the lock table (URL `locktable+mysql://…`).'),
    store: doubtful('the ledger has not been tried behind it.'),
  },
  {
    product: 'MaxScale', mark: /maxscale/i, version: /maxscale[^\d]*(\d[\w.]*)/i,
    locks: refused('it answers in the place of several servers, each with locks of its own.', 'Connect to the primary itself, or use the lock table (URL `locktable+mariadb://…`).'),
    store: doubtful('the ledger has not been tried behind it.'),
  },
  {
    product: 'Doris or StarRocks', mark: /doris|starrocks/i, version: /(?:doris|starrocks)[^\d]*(\d[\w.]*)/i,
    locks: refused('it has no GET_LOCK.', ownServer),
    store: refused('it is no transactional database.', ownServer),
  },
]

/** Reads `version` and `version_comment`. What is neither MySQL nor MariaDB, nor one of those above, is refused: never a silent guess. */
export function engineOf(version: string, comment: string): Engine {
  const text = `${version} ${comment}`
  const kind = kinds.find(({ mark }) => mark.test(text))
  if (kind !== undefined) {
    const found = kind.version.exec(text)?.[1] ?? '(version unknown)'
    return { product: kind.product, version: found, genuine: false, findings: { locks: [kind.locks(kind.product, found)], store: [kind.store(kind.product, found)] } }
  }
  // The prefix that MariaDB wears in the handshake for old replicas: https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection
  const number = /^(?:5\.5\.5-)?(\d+\.\d+(?:\.\d+)?)/.exec(version)?.[1]
  if (number !== undefined) return { product: /mariadb/i.test(text) ? 'MariaDB' : 'MySQL', version: number, genuine: true, findings: { locks: [], store: [] } }
  const unrecognised: Finding = {
    level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `the server calls itself ${JSON.stringify(text.slice(0, 80))}, which this dialect does not know.`,
    remedy: 'Use MySQL or MariaDB, or a dialect made for this server.',
  }
  return { product: 'unknown', version: '(version unknown)', genuine: false, findings: { locks: [unrecognised], store: [unrecognised] } }
}
