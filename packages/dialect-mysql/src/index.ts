export { mysql, sched } from './mysql.ts'
export type { ClientOf, MysqlOptions } from './options.ts'
export type { MysqlCallbackPool, MysqlPool, MysqlPromiseConnection, MysqlPromisePool } from './connect/mysql-client.ts'
