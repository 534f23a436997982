export { sqlite, type SqliteOptions } from './sqlite-dialect.ts'
