export { lockTable } from './lock-table.ts'
export { sched } from './dialect-module.ts'
export { sqlite, type SqliteOptions } from './sqlite/sqlite-dialect.ts'
