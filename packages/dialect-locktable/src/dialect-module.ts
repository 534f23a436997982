import { SchedError, type DialectModule } from '@sched/core/spi'
import { fileOfUrl } from './sqlite/sqlite-url.ts'
import { sqlite } from './sqlite/sqlite-dialect.ts'

// Known databases that a lock table will serve.
const notYet: ReadonlyMap<string, string> = new Map([['dm', 'Dameng DM8'], ['kingbase', 'KingbaseES']])

/** `locktable+<scheme>` is not among the schemes: the core resolves the inner dialect and hands it to `lockTable`. */
export const sched: DialectModule = {
  spiVersion: 1,
  schemes: ['sqlite', ...notYet.keys()],
  create(url) {
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
    const product = notYet.get(scheme ?? '')
    if (product !== undefined) {
      throw new SchedError('SCHED_DIALECT_NOT_INSTALLED', `${product} has no dialect yet: this version of @sched/dialect-locktable knows the scheme and serves SQLite only.`,
        { remedy: 'Use another database, or write the dialect: docs/writing-a-dialect.md.' })
    }
    return sqlite({ file: fileOfUrl(url) })
  },
}
