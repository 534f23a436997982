import type { LockConnection, LockDiagnostics, LockSource, StoreDialect } from '@sched/core/spi'
import { onSession, type LockTableConnection } from './lock-table-connection.ts'
import { lockTableStatements } from './lock-table-statements.ts'

/** What may be asked about the lock table; about sessions only where the inner dialect's own lock source can be asked. */
export function lockTableDiagnostics(store: StoreDialect, inner?: LockSource): LockDiagnostics<LockTableConnection> {
  const askInner = inner?.diagnostics
  const kill = askInner?.kill?.bind(askInner)
  return {
    async sessions(connection, label) {
      // A file has none; behind a transaction pooler none belongs to anybody, and native sources refuse to open one.
      if (inner === undefined || askInner === undefined || connection.options.sharedSessions === true) return []
      return onInner(inner, connection, async (asking) => {
        const ids = await askInner.sessions(asking, label)
        return ids.filter((id) => id !== connection.id)
      })
    },
    async locks(connection, label) {
      const { ownerLabel, namePrefix } = ownersUnder(label)
      const statement = lockTableStatements(store.sql, connection.table).heldUnder([label, ownerLabel])
      const { rows } = await onSession(connection, (sql) => sql.run(statement))
      return rows.filter((row) => row['owner_label'] === label || (row['lock_name'] as string).startsWith(namePrefix)).length
    },
    ...(inner === undefined || kill === undefined ? {} : {
      kill: (connection, id): Promise<void> => onInner(inner, connection, (asking) => kill(asking, id)),
    }),
  }
}

/** A session is labelled `sched:<namespace>:<host>:<pid>`, an owner `<host>:<pid>`, and a lock's name begins with its namespace. */
function ownersUnder(label: string): { ownerLabel: string; namePrefix: string } {
  const [, namespace = '', ownerLabel = label] = /^sched:([a-z0-9_-]+):(.*)$/s.exec(label) ?? []
  return { ownerLabel, namePrefix: `${namespace.length}:${namespace}:` }
}

/** The inner source knows its own connections only, so it is asked on one. */
async function onInner<T>(inner: LockSource, { options }: LockTableConnection, ask: (asking: LockConnection) => Promise<T>): Promise<T> {
  const asking = await inner.open('pulse', options)
  try {
    return await ask(asking)
  } finally {
    asking.destroy()
  }
}
