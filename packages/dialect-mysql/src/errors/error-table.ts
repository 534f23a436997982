import type { ErrorClass } from '@sched/core/spi'
import type { Vendor } from './vendor.ts'

// Numbers: https://dev.mysql.com/doc/mysql-errors/9.7/en/server-error-reference.html,
// https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference
// [tried] = raised by a real server in this package's tests (versions in docs/databases.md), MySQL and MariaDB unless one is named.

/** Numbers that mean the same to both, also where it is not known yet who answers (the handshake). */
export const byNumber: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [1205, 'lock-timeout'], // ER_LOCK_WAIT_TIMEOUT [tried]: innodb_lock_wait_timeout or lock_wait_timeout passed; MariaDB's NOWAIT too
  [1213, 'deadlock'], // ER_LOCK_DEADLOCK [tried]: the transaction was rolled back. MariaDB: user locks in a circle too; Galera: at COMMIT
  [1614, 'deadlock'], // ER_XA_RBDEADLOCK
  [1062, 'duplicate-key'], // ER_DUP_ENTRY [tried]
  [1586, 'duplicate-key'], // ER_DUP_ENTRY_WITH_KEY_NAME
  [1022, 'duplicate-key'], // ER_DUP_KEY
  [1317, 'query-timeout'], // ER_QUERY_INTERRUPTED [tried]: KILL QUERY
  [1053, 'connection-lost'], // ER_SERVER_SHUTDOWN
  [1077, 'connection-lost'], // ER_NORMAL_SHUTDOWN
  [1152, 'connection-lost'], // ER_ABORTING_CONNECTION
  [1158, 'connection-lost'], [1159, 'connection-lost'], [1160, 'connection-lost'], [1161, 'connection-lost'], // ER_NET_… read and write
  [1184, 'connection-lost'], // ER_NEW_ABORTING_CONNECTION
  [1045, 'authentication'], // ER_ACCESS_DENIED_ERROR [tried]: user or password
  [1698, 'authentication'], // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
  [1044, 'authentication'], // ER_DBACCESS_DENIED_ERROR [tried] in the handshake: the account may not use the database
  [1049, 'authentication'], // ER_BAD_DB_ERROR [tried] in the handshake: there is no such database
  [1130, 'authentication'], // ER_HOST_NOT_PRIVILEGED
  [1251, 'authentication'], // ER_NOT_SUPPORTED_AUTH_MODE
  [1820, 'authentication'], [1862, 'authentication'], // ER_MUST_CHANGE_PASSWORD…: the password has expired
  [1142, 'permission'], // ER_TABLEACCESS_DENIED_ERROR [tried]
  [1143, 'permission'], // ER_COLUMNACCESS_DENIED_ERROR
  [1227, 'permission'], // ER_SPECIFIC_ACCESS_DENIED_ERROR [tried]
  [1370, 'permission'], // ER_PROCACCESS_DENIED_ERROR
  [1146, 'missing-table'], // ER_NO_SUCH_TABLE [tried]
  [1051, 'missing-table'], // ER_BAD_TABLE_ERROR [tried]: DROP TABLE
  [1050, 'already-exists'], // ER_TABLE_EXISTS_ERROR [tried]
  [1060, 'already-exists'], // ER_DUP_FIELDNAME
  [1061, 'already-exists'], // ER_DUP_KEYNAME [tried]: CREATE INDEX has no IF NOT EXISTS on MySQL
  [1290, 'read-only'], // ER_OPTION_PREVENTS_STATEMENT [tried]: --read-only, --super-read-only
  [1792, 'read-only'], // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION [tried]
  [1836, 'read-only'], // ER_READ_ONLY_MODE
  [1406, 'name-invalid'], // ER_DATA_TOO_LONG [tried]: longer than the column, in strict mode
  [1366, 'name-invalid'], // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: characters the column does not have
  [1021, 'resource-exhausted'], // ER_DISK_FULL
  [1037, 'resource-exhausted'], [1038, 'resource-exhausted'], [1041, 'resource-exhausted'], // ER_OUTOFMEMORY, ER_OUT_OF_SORTMEMORY, ER_OUT_OF_RESOURCES
  [1040, 'resource-exhausted'], // ER_CON_COUNT_ERROR [tried]: max_connections
  [1114, 'resource-exhausted'], // ER_RECORD_FILE_FULL
  [1135, 'resource-exhausted'], // ER_CANT_CREATE_THREAD
  [1203, 'resource-exhausted'], // ER_TOO_MANY_USER_CONNECTIONS
  [1206, 'resource-exhausted'], // ER_LOCK_TABLE_FULL
  [1226, 'resource-exhausted'], // ER_USER_LIMIT_REACHED [tried]: MAX_USER_CONNECTIONS of the account
  [1064, 'unsupported'], // ER_PARSE_ERROR [tried]
  [1193, 'unsupported'], // ER_UNKNOWN_SYSTEM_VARIABLE [tried]
  [1235, 'unsupported'], // ER_NOT_SUPPORTED_YET
  [1305, 'unsupported'], // ER_SP_DOES_NOT_EXIST [tried]: a function or a savepoint
])

// Once a session is open the database was there and open to the account: then it is another one that a statement names.
const whenOpen: readonly (readonly [number, ErrorClass])[] = [[1044, 'permission'], [1049, 'missing-table']]

/** Numbers that belong to one of them, or mean something else to the other. */
export const byVendor: Readonly<Record<Vendor, ReadonlyMap<number, ErrorClass>>> = {
  mysql: new Map<number, ErrorClass>([
    ...whenOpen,
    [3024, 'query-timeout'], // ER_QUERY_TIMEOUT [tried]: max_execution_time
    [3057, 'name-invalid'], // ER_USER_LOCK_WRONG_NAME [tried]: NULL, empty, or characters outside utf8mb3
    [4163, 'name-invalid'], // ER_USER_LOCK_OVERLONG_NAME [tried]: 3057 in older versions
    [3058, 'deadlock'], // ER_USER_LOCK_DEADLOCK [tried]: no transaction is rolled back, locks that are held stay
    [3101, 'serialization'], // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: Group Replication's certification said no
    [3169, 'connection-lost'], // ER_SESSION_WAS_KILLED
    [3572, 'lock-timeout'], // ER_LOCK_NOWAIT [tried]
    [4031, 'connection-lost'], // ER_CLIENT_INTERACTION_TIMEOUT [tried]: wait_timeout. To MariaDB: a trigger that does not exist
  ]),
  mariadb: new Map<number, ErrorClass>([
    ...whenOpen,
    [1020, 'serialization'], // ER_CHECKREAD [tried on 11.8]: REPEATABLE READ with innodb_snapshot_isolation, the default from 11.6
    [1047, 'connection-lost'], // ER_UNKNOWN_COM_ERROR: a Galera node that is not ready for use
    [1059, 'name-invalid'], // ER_TOO_LONG_IDENT [tried]: a lock's name of more than 192 bytes
    [1927, 'connection-lost'], // ER_CONNECTION_KILLED
    [1969, 'query-timeout'], // ER_STATEMENT_TIMEOUT [tried]: max_statement_time
    [4166, 'lock-timeout'], // ER_BACKUP_LOCK_IS_ACTIVE
  ]),
}

// Codes of the driver (mysql2 3.24.6, lib/base/connection.js, lib/commands/client_handshake.js, lib/commands/auth_switch.js) and
// Node's own of sockets, names and TLS: https://nodejs.org/api/errors.html#common-system-errors,
// https://nodejs.org/api/tls.html#x509-certificate-error-codes
export const byCode: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ...[
    'PROTOCOL_CONNECTION_LOST', // [tried]
    'PROTOCOL_ERROR', 'PROTOCOL_PACKETS_OUT_OF_ORDER', 'PROTOCOL_UNEXPECTED_PACKET',
    'HANDSHAKE_NO_SSL_SUPPORT', 'HANDSHAKE_SSL_ERROR', // [tried] the server has no TLS, or its certificate was refused
    'ECONNREFUSED', 'ECONNRESET', 'EPIPE', // [tried]
    'ETIMEDOUT', // [tried] connectTimeout
    'ECONNABORTED', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENETRESET', 'EADDRNOTAVAIL',
    'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', // [tried] the name does not resolve
    'ENOENT', 'EACCES', // a unix socket that is not there, or not ours
    'EMFILE', 'ENFILE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED',
    'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER',
  ].map((code): [string, ErrorClass] => [code, 'connection-lost']),
  ['PROTOCOL_SEQUENCE_TIMEOUT', 'query-timeout'], // a `timeout` of the driver: the statement goes on in the server
  ['AUTH_SWITCH_PLUGIN_ERROR', 'authentication'],
])

/** Errors that the driver makes with a text alone. */
export const byMessage: readonly (readonly [RegExp, ErrorClass])[] = [
  [/^Can't (?:add new command when|write in) .*closed state$/, 'connection-lost'], // [tried]
  [/^Pool is closed\.$/, 'connection-lost'], // [tried]
  [/^(?:No connections available|Queue limit reached)\.$/, 'resource-exhausted'], // the pool's waitForConnections, queueLimit [tried]
]
