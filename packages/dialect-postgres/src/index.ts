export { postgres, sched } from './postgres.ts'
export type { ClientOf, PostgresOptions } from './options.ts'
export type { PgArrayResult, PgClient, PgPool, PgPoolClient, PgQuery, PgTypes } from './connect/pg-client.ts'
