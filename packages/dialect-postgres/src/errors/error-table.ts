import type { ErrorClass } from '@sched/core/spi'

// SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html
// [tried] = raised by a real server in this package's tests; the version is in README.md.
export const bySqlState: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ['55P03', 'lock-timeout'], // lock_not_available [tried]: lock_timeout passed; FOR UPDATE NOWAIT gives the same code
  ['23505', 'duplicate-key'], // unique_violation [tried]
  ['40P01', 'deadlock'], // deadlock_detected [tried]: the whole transaction was rolled back; session-level advisory locks stay
  ['40001', 'serialization'], // serialization_failure [tried]: only above READ COMMITTED, as in ctx.transaction
  ['57014', 'query-timeout'], // query_canceled [tried]: statement_timeout, or pg_cancel_backend
  ['25P03', 'connection-lost'], // idle_in_transaction_session_timeout [tried]: FATAL, the session is over
  ['25P04', 'connection-lost'], // transaction_timeout (17 and later) [tried]: FATAL as well
  ['57P01', 'connection-lost'], // admin_shutdown [tried]: pg_terminate_backend, or a stop of the server
  ['57P02', 'connection-lost'], // crash_shutdown: another backend crashed, the postmaster ends all
  ['57P03', 'connection-lost'], // cannot_connect_now: starting up, shutting down, in recovery
  ['57P04', 'connection-lost'], // database_dropped
  ['57P05', 'connection-lost'], // idle_session_timeout (14 and later) [tried]: FATAL
  ['28P01', 'authentication'], // invalid_password [tried]
  ['28000', 'authentication'], // invalid_authorization_specification: no such role, or pg_hba.conf refuses
  ['3D000', 'authentication'], // invalid_catalog_name [tried]: no such database
  ['42501', 'permission'], // insufficient_privilege [tried]
  ['42P01', 'missing-table'], // undefined_table [tried]
  ['3F000', 'missing-table'], // invalid_schema_name [tried]: the tables cannot be in a schema that is not there
  ['42P07', 'already-exists'], // duplicate_table [tried], an index too
  ['42P06', 'already-exists'], // duplicate_schema
  ['42701', 'already-exists'], // duplicate_column
  ['42710', 'already-exists'], // duplicate_object
  ['25006', 'read-only'], // read_only_sql_transaction [tried]: a standby, or default_transaction_read_only
  ['22021', 'name-invalid'], // character_not_in_repertoire [tried]: NUL, or bytes that are no text in the database's encoding
  ['22P05', 'name-invalid'], // untranslatable_character [tried]: the character does not exist in the database's encoding
  ['22001', 'name-invalid'], // string_data_right_truncation [tried]: longer than the column
  ['42883', 'unsupported'], // undefined_function [tried]
  ['42601', 'unsupported'], // syntax_error [tried]
  ['42704', 'unsupported'], // undefined_object [tried]: a setting or type this server does not know
  ['0A000', 'unsupported'], // feature_not_supported
])

/** By the class of the SQLSTATE (its first two characters), for codes without a row of their own. */
export const bySqlStateClass: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ['08', 'connection-lost'], // connection exceptions; for 08P01 see below
  ['53', 'resource-exhausted'], // insufficient resources: 53100 disk, 53200 lock memory, 53300 connections [tried]
])

// PgBouncer has one code, 08P01 protocol_violation, for most of what it says itself; the texts tell (1.24.1, all [tried]).
export const poolerCode = '08P01'
export const byPoolerMessage: readonly (readonly [RegExp, ErrorClass])[] = [
  [/authentication failed/, 'authentication'], // "SASL authentication failed"
  [/^unsupported startup parameter/, 'unsupported'], // statement_timeout and the like in the user's own URL or config
]

// Node's own codes of sockets, names and TLS: https://nodejs.org/api/errors.html#common-system-errors,
// https://nodejs.org/api/tls.html#x509-certificate-error-codes. All mean that there is no session (any more).
export const socketCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED', // [tried] nobody listens
  'ECONNRESET', 'EPIPE', // the peer, or something on the way, cut the connection ([tried] the first)
  'ETIMEDOUT', 'ECONNABORTED', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENETRESET', 'EADDRNOTAVAIL',
  'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', // the name does not resolve ([tried] the first two, by machine)
  'ENOENT', 'EACCES', // a unix socket that is not there, or not ours
  'EMFILE', 'ENFILE', // out of file descriptors: no socket
  'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED',
  'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER',
])

// Errors that the driver makes itself have a text and no code. Read in pg 8.23.1, lib/{client,connection}.js,
// lib/crypto/sasl.js, and pg-pool 3.14.0, index.js.
export const byMessage: readonly (readonly [RegExp, ErrorClass])[] = [
  [/^Connection terminated/, 'connection-lost'], // [tried] "… unexpectedly"; "… due to connection timeout" of a pool
  [/^Client has encountered a connection error and is not queryable$/, 'connection-lost'], // [tried]
  [/^Client was closed and is not queryable$/, 'connection-lost'], // [tried]
  [/^timeout e(xpired$|xceeded when trying to connect$)/, 'connection-lost'], // connectionTimeoutMillis of a client, of a pool
  [/^Cannot use a pool after calling end on the pool$/, 'connection-lost'], // [tried]
  [/^The server does not support SSL connections$/, 'connection-lost'], // [tried]
  [/^There was an error establishing an SSL connection$/, 'connection-lost'],
  [/^Query read timeout$/, 'query-timeout'], // query_timeout of the user's pool: the statement goes on in the server
  [/^SASL: /, 'authentication'], // [tried] no password given, or a server that does not know it either
  [/^Password must be a string$/, 'authentication'],
]
