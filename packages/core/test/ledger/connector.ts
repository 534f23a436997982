import type { Dialect } from '../../src/spi/dialect.ts'

export type Product = 'SQLite' | 'PostgreSQL' | 'MySQL' | 'MariaDB'

/** How a database of this kind is reached by its address, a file or a URL. Only its own driver is loaded: processes start with it. */
export async function connector(product: Product): Promise<(address: string) => Dialect> {
  switch (product) {
    case 'SQLite': {
      const { sqlite } = await import('@sched/dialect-locktable/sqlite')
      return (file) => sqlite({ file })
    }
    case 'PostgreSQL': {
      const { postgres } = await import('@sched/dialect-postgres')
      return (url) => postgres({ url })
    }
    case 'MySQL':
    case 'MariaDB': {
      const { mysql } = await import('@sched/dialect-mysql')
      return (url) => mysql({ url })
    }
  }
}
