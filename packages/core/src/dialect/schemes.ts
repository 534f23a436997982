/** The official dialects: scheme to package, and the driver that is installed beside it. */
export interface OfficialDialect { readonly module: string; readonly install: string }

const postgres: OfficialDialect = { module: '@sched/dialect-postgres', install: '@sched/dialect-postgres pg' }
const mysql: OfficialDialect = { module: '@sched/dialect-mysql', install: '@sched/dialect-mysql mysql2' }
const sqlserver: OfficialDialect = { module: '@sched/dialect-sqlserver', install: '@sched/dialect-sqlserver tedious' }
const oracle: OfficialDialect = { module: '@sched/dialect-oracle', install: '@sched/dialect-oracle oracledb' }
export const lockTableDialect: OfficialDialect = { module: '@sched/dialect-locktable', install: '@sched/dialect-locktable' }

export const officialDialects: ReadonlyMap<string, OfficialDialect> = new Map([
  ['postgres', postgres], ['postgresql', postgres],
  ['mysql', mysql], ['mariadb', mysql],
  ['sqlserver', sqlserver], ['mssql', sqlserver],
  ['oracle', oracle],
  ['sqlite', lockTableDialect], ['dm', lockTableDialect], ['kingbase', lockTableDialect],
])

/** `locktable+postgres://…`: the lock table on the database of the inner URL. */
export const lockTablePrefix = 'locktable+'

/** The scheme of a URL in lower case, or undefined where there is none. One letter is a Windows drive, not a scheme. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()
}
