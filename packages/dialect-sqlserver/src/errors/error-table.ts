import type { ErrorClass } from '@sched/core/spi'

// Numbers of the server: https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors
// (the catalogue is sys.messages). Azure: https://learn.microsoft.com/azure/azure-sql/database/troubleshoot-common-errors-issues
// None of them was raised by a live SQL Server yet; [peer] = raised by Babelfish 4.4.0 under the same number.
export const byNumber: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [1222, 'lock-timeout'], // SET LOCK_TIMEOUT passed
  [2627, 'duplicate-key'], // PRIMARY KEY or UNIQUE constraint [peer]
  [2601, 'duplicate-key'], // unique index
  [1205, 'deadlock'], // chosen as the victim: the whole transaction was rolled back; locks of the session stay
  [3960, 'serialization'], // SNAPSHOT isolation, as in ctx.transaction: the row has changed since the transaction began
  [3961, 'serialization'], // the same, for a table that was altered
  [3902, 'serialization'], // COMMIT without a transaction: XACT_ABORT had rolled it back when a statement of it failed
  [3930, 'serialization'], // the transaction is doomed (an error that a CATCH has hidden): it can only be rolled back
  [3998, 'serialization'], // a doomed transaction was rolled back at the end of the batch
  [601, 'contended'], // a scan WITH (NOLOCK) met a page that was moved: tried again
  [3617, 'query-timeout'], // cancelled by an attention
  [596, 'connection-lost'], // the session is in the kill state
  [6005, 'connection-lost'], // SHUTDOWN is in progress
  [6002, 'connection-lost'],
  [983, 'connection-lost'], // the database is a replica that is RESOLVING: an availability group fails over
  [976, 'connection-lost'], // the database of an availability group cannot be reached here now
  [924, 'connection-lost'], // in single-user mode, and somebody else is in it
  [40197, 'connection-lost'], [40613, 'connection-lost'], [40143, 'connection-lost'], [49918, 'connection-lost'], // Azure: reconfiguration
  [40501, 'resource-exhausted'], [10928, 'resource-exhausted'], [10929, 'resource-exhausted'], [49919, 'resource-exhausted'], [49920, 'resource-exhausted'], // Azure: busy
  [18456, 'authentication'], // login failed
  [18452, 'authentication'], [18450, 'authentication'], [18470, 'authentication'], [18486, 'authentication'], [18487, 'authentication'], [18488, 'authentication'], // untrusted domain, disabled, locked out, expired
  [4060, 'authentication'], // the login cannot open the database it asked for
  [4064, 'authentication'], // nor its default database
  [911, 'authentication'], // no such database
  [40532, 'authentication'], [40914, 'authentication'], [40615, 'authentication'], // Azure: no such login, the firewall refuses this address
  [229, 'permission'], [230, 'permission'], [262, 'permission'], [297, 'permission'], [300, 'permission'], [371, 'permission'], [916, 'permission'], [2760, 'permission'],
  [6102, 'permission'], // KILL needs ALTER ANY CONNECTION
  [208, 'missing-table'], // invalid object name
  [3701, 'missing-table'], // DROP of what is not there, or not ours
  [4902, 'missing-table'], [1088, 'missing-table'], // ALTER TABLE, CREATE INDEX on what is not there
  [2714, 'already-exists'], // another booter made the table
  [1913, 'already-exists'], // another booter made the index
  [2705, 'already-exists'], // column names must be unique: ALTER TABLE ADD of a column that is there
  [3906, 'read-only'], // the database is read-only: a readable secondary, or READ_ONLY
  [3908, 'read-only'], // the database is in emergency mode or damaged
  [978, 'read-only'], // a secondary that takes read-intent connections only
  [2628, 'name-invalid'], [8152, 'name-invalid'], // text longer than the column
  [1105, 'resource-exhausted'], [9002, 'resource-exhausted'], // no room in the file group, in the log
  [1204, 'resource-exhausted'], // out of lock memory
  [701, 'resource-exhausted'], [802, 'resource-exhausted'], [8645, 'resource-exhausted'], [17809, 'resource-exhausted'], [17810, 'resource-exhausted'], // memory, connections
  [2812, 'unsupported'], // no such stored procedure
  [195, 'unsupported'], // no such built-in function
  [102, 'unsupported'], [156, 'unsupported'], [319, 'unsupported'], [40517, 'unsupported'], // syntax
  [650, 'unsupported'], // READPAST under an isolation level that has no such thing
])

/**
 * For numbers of nobody's catalogue: a server that only speaks the protocol has one of its own for what it cannot map (Babelfish
 * 4.4.0: 33557097 for a table that is not there [peer]). The text says what it is, SQL Server's or PostgreSQL's.
 */
export const byMessage: readonly (readonly [RegExp, ErrorClass])[] = [
  [/^Invalid object name\b|^relation ".*" does not exist\b/i, 'missing-table'],
  [/^There is already an object named\b|^relation ".*" already exists\b/i, 'already-exists'],
  [/^Lock request time out period exceeded\b|^canceling statement due to lock timeout\b/i, 'lock-timeout'],
  [/deadlock(ed| detected)\b/i, 'deadlock'],
  [/^permission denied\b|\bpermission was denied on\b/i, 'permission'],
  [/^Could not find stored procedure\b|^(function|procedure) .* does not exist\b|is not a recognized built-in function name/i, 'unsupported'],
  [/^Violation of (PRIMARY|UNIQUE) KEY\b|^duplicate key value violates unique constraint\b/i, 'duplicate-key'],
  [/in a read-only transaction$/i, 'read-only'],
]

// Codes of the drivers, read in tedious 20.3.9 (lib/connection.js, lib/errors.js; the same in 19.2.2) and mssql 12.7.14 (lib/error, lib/base).
export const byDriverCode: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ['ESOCKET', 'connection-lost'], // could not connect, or the socket broke; the cause has Node's own code
  ['ECLOSE', 'connection-lost'], // closed while a request was on its way
  ['ECONNCLOSED', 'connection-lost'], ['ENOTOPEN', 'connection-lost'], ['ENOCONN', 'connection-lost'], // mssql: the pool is closed, or not open yet
  ['EINSTLOOKUP', 'connection-lost'], // the SQL Browser does not know the instance
  ['EENCRYPT', 'connection-lost'], // one side wants TLS and the other does not
  ['ETDS', 'connection-lost'], ['EINTERFACENOTSUPP', 'connection-lost'], // what answered is no TDS server that tedious knows
  ['ELOGIN', 'authentication'], // refused at login, for a reason without a number
  ['EFEDAUTH', 'authentication'], // no token for Azure
  ['ECANCEL', 'query-timeout'], // cancelled by the client, answered by an attention
])

/** Node's own codes: a request gets the error of its socket as it is. https://nodejs.org/api/errors.html#common-system-errors */
export const socketCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENETRESET', 'EADDRNOTAVAIL',
  'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EMFILE', 'ENFILE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED', 'ERR_STREAM_PREMATURE_CLOSE',
])

/** Code ETIMEOUT is three things; the driver's texts are never translated. */
export const byTimeoutMessage: readonly (readonly [RegExp, ErrorClass])[] = [
  [/^Timeout: Request failed to complete in /, 'query-timeout'], // the statement's limit: cancelled, and the server has said so
  [/^Failed to (cancel request|connect to) /, 'connection-lost'], // the attention was not answered: the driver closes the connection
]

/** tarn, the pool of mssql: https://github.com/Vincit/tarn.js */
export const poolTimeoutMessage: RegExp = /^Failed to acquire a connection from the pool: /
