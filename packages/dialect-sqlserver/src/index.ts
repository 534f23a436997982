export { sched, sqlserver } from './sqlserver.ts'
export type { SqlServerOptions } from './options.ts'
export type { TediousConfig } from './connect/owned-connector.ts'
export type {
  LentPool, MssqlPool, TediousCell, TediousColumn, TediousColumns, TediousConnection, TediousDone, TediousMessage, TediousRequest,
} from './connect/tedious-types.ts'
