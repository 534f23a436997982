export { oracle, sched } from './oracle.ts'
export type { ClientOf, OracleOptions } from './options.ts'
export type { OracleBind, OracleBinds, OracleConnection, OraclePool } from './connect/oracle-client.ts'
