// One of several processes that make the tables of one empty database at the same moment: `migrator.ts <product> <address>`.
// Says `ready`, waits for a line on stdin, migrates, says `migrated`.
import { once } from 'node:events'
import { migrate } from '../../../src/ledger/migrate.ts'
import { tableNames } from '../../../src/ledger/tables.ts'
import { StoreSession } from '../../../src/session/store-session.ts'
import type { StoreDialect } from '../../../src/spi/store-dialect.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { connector, type Product } from '../connector.ts'

const [, , product, address = ''] = process.argv
const dialect = (await connector(product as Product))(address)
const store = dialect.store as StoreDialect
const tables = tableNames(store.sql)
const session = new StoreSession({
  clock: systemClock, random: Math.random, label: 'schema', callMs: 30_000, sharedSessions: false, sql: (raw) => raw, classify: (error) => store.classify(error),
  open: (signal) => store.open('store', { signal, leaseMs: 10_000, label: 'sched:migrator', tables, statementMs: 30_000, rowLockMs: 10_000, sharedSessions: false }),
})
process.stdout.write(`${JSON.stringify({ kind: 'ready' })}\n`)
await once(process.stdin, 'data')
await migrate({ sql: store.sql, tables, tableOptions: {}, session, clock: systemClock })
process.stdout.write(`${JSON.stringify({ kind: 'migrated' })}\n`)
session.close()
process.stdin.destroy()
