import { doubtfulEngine, recogniseEngine, refusedEngine, type Engine, type EngineKind } from '@sched/core/spi'

const lockTable = 'Use the lock table (`lockTable(mysql(…))`, URL `locktable+mysql://…`).'
const ownServer = 'Use MySQL or MariaDB.'

/** None of these was at hand: the verdicts follow their documentation, and only the names were tried, against a stand-in. */
const others: readonly EngineKind[] = [
  {
    product: 'TiDB', mark: /tidb/i, version: /TiDB-v?(\d[\w.]*)/i,
    // https://docs.pingcap.com/tidb/stable/locking-functions/
    locks: refusedEngine('its user-level locks differ: waits are 1 to 3,600 s, IS_USED_LOCK does not name the holder, and the session has no limit that would end them.', lockTable),
    store: doubtfulEngine('the ledger has not been tried on it.'),
  },
  {
    product: 'Vitess', mark: /vitess/i, version: /Vitess[^\d]*(\d[\w.]*)/i,
    // https://vitess.io/docs/reference/compatibility/mysql-compatibility/
    locks: refusedEngine('a lock needs a reserved connection to one shard, which may be taken away.', lockTable),
    store: refusedEngine('its transactions and unique keys reach over one shard only.', ownServer),
  },
  {
    product: 'OceanBase', mark: /oceanbase/i, version: /OceanBase[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('GET_LOCK depends on its proxy, and has not been tried.', lockTable),
    store: doubtfulEngine('the ledger has not been tried on it.'),
  },
  {
    product: 'PolarDB-X', mark: /TDDL|PolarDB-X/i, version: /(?:TDDL|PXC|X-Cluster)[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('its locks have not been tried.', lockTable),
    store: doubtfulEngine('the ledger has not been tried on it.'),
  },
  {
    product: 'SingleStore', mark: /memsql|singlestore/i, version: /(?:MemSQL|SingleStore)[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('it has no GET_LOCK.', ownServer),
    store: refusedEngine('its unique keys are bound to shards.', ownServer),
  },
  {
    product: 'Dolt', mark: /dolt/i, version: /Dolt[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('its locks have not been tried.', lockTable),
    store: refusedEngine('concurrent transactions are merged, not serialised.', ownServer),
  },
  {
    product: 'ProxySQL', mark: /proxysql/i, version: /ProxySQL[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('statements of one client run on sessions of several, and the limits of our sessions do not reach the server.', 'Connect to the server itself, or use the lock table (URL `locktable+mysql://…`).'),
    store: doubtfulEngine('the ledger has not been tried behind it.'),
  },
  {
    product: 'MaxScale', mark: /maxscale/i, version: /maxscale[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('it answers in the place of several servers, each with locks of its own.', 'Connect to the primary itself, or use the lock table (URL `locktable+mariadb://…`).'),
    store: doubtfulEngine('the ledger has not been tried behind it.'),
  },
  {
    product: 'Doris or StarRocks', mark: /doris|starrocks/i, version: /(?:doris|starrocks)[^\d]*(\d[\w.]*)/i,
    locks: refusedEngine('it has no GET_LOCK.', ownServer),
    store: refusedEngine('it is no transactional database.', ownServer),
  },
]

/** Reads `version` and `version_comment`. */
export function engineOf(version: string, comment: string): Engine {
  const text = `${version} ${comment}`
  // The prefix that MariaDB wears in the handshake for old replicas: https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection
  const number = /^(?:5\.5\.5-)?(\d+\.\d+(?:\.\d+)?)/.exec(version)?.[1]
  return recogniseEngine(text, {
    others, genuine: number === undefined ? undefined : { product: /mariadb/i.test(text) ? 'MariaDB' : 'MySQL', version: number },
    remedy: 'Use MySQL or MariaDB, or a dialect made for this server.',
  })
}
