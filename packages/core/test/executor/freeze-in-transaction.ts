import type { Dialect } from '../../src/spi/dialect.ts'
import type { StoreDialect } from '../../src/spi/store-dialect.ts'

/** `commit`: after the last statement and before COMMIT is sent, the transaction open. Once per process. */
export type FreezePoint = 'commit'

/**
 * The dialect with one difference: a `ctx.transaction` stops its own process (SIGSTOP) at the point. A signal sent from outside
 * could not hit the moment; everything else is the dialect's.
 */
export function freezeInTransaction(dialect: Dialect, point: FreezePoint, say: (line: object) => void): Dialect {
  const store = dialect.store as StoreDialect
  let frozen = false
  return {
    ...dialect,
    store: {
      ...store,
      async open(purpose, options) {
        const session = await store.open(purpose, options)
        if (purpose !== 'transaction') return session
        return new Proxy(session, {
          get(target, property) {
            const value: unknown = Reflect.get(target, property, target)
            if (property !== point || frozen) return typeof value === 'function' ? value.bind(target) as unknown : value
            return async () => {
              frozen = true
              say({ kind: 'frozen', pid: process.pid })
              process.kill(process.pid, 'SIGSTOP')
              await (target)[point]()
            }
          },
        })
      },
    },
  }
}
