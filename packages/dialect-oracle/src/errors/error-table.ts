import type { ErrorClass } from '@sched/core/spi'

// Oracle's numbers: https://docs.oracle.com/en/error-help/db/ (one page each: /ora-00001/). None of them has been seen from a live
// server yet: [stand-in] = raised by the stand-in of our tests, the rest is documented only.
export const byOracleCode: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [1, 'duplicate-key'], // unique constraint violated [stand-in]
  [54, 'lock-timeout'], // resource busy and acquire with NOWAIT specified or timeout expired [stand-in]: DDL too
  [30006, 'lock-timeout'], // resource busy; acquire with WAIT timeout expired [stand-in]
  [4021, 'lock-timeout'], // timeout occurred while waiting to lock object: DDL against DDL
  [2049, 'lock-timeout'], // timeout: distributed transaction waiting for lock
  [60, 'deadlock'], // deadlock detected [stand-in]: only the statement was undone, so the core rolls back
  [4020, 'deadlock'], // deadlock detected while trying to lock object
  [8177, 'serialization'], // can't serialize access: only under SERIALIZABLE, as in ctx.transaction
  [1555, 'serialization'], // snapshot too old: the same statement reads a newer one
  [1013, 'query-timeout'], // user requested cancel of current operation
  [1017, 'authentication'], // invalid credential; logon denied [stand-in]
  [1005, 'authentication'], // null password given
  [28000, 'authentication'], // the account is locked
  [28001, 'authentication'], // the password has expired
  [1045, 'authentication'], // user lacks CREATE SESSION privilege
  [1031, 'permission'], // insufficient privileges [stand-in]
  [41900, 'permission'], // missing privilege (23ai says which one in place of 942 or 1031)
  [942, 'missing-table'], // table or view does not exist, or may not be seen [stand-in]
  [955, 'already-exists'], // name is already used by an existing object [stand-in]
  [1408, 'already-exists'], // such column list already indexed [stand-in]
  [1430, 'already-exists'], // column being added already exists in table
  [2260, 'already-exists'], // table can have only one primary key
  [2261, 'already-exists'], // such unique or primary key already exists in the table
  [16000, 'read-only'], // database or pluggable database open for read-only access
  [1456, 'read-only'], // may not perform insert/delete/update operation inside a READ ONLY transaction
  [12899, 'name-invalid'], // value too large for column
  [972, 'name-invalid'], // identifier is too long
  [1461, 'name-invalid'], // can bind a LONG value only for insert into a LONG column: a text of more than 4,000 bytes
  [18, 'resource-exhausted'], // maximum number of sessions exceeded
  [20, 'resource-exhausted'], // maximum number of processes exceeded
  [2391, 'resource-exhausted'], // exceeded simultaneous SESSIONS_PER_USER limit
  [12516, 'resource-exhausted'], // listener could not find available handler with matching protocol stack: out of processes
  [12519, 'resource-exhausted'], // no appropriate service handler found: out of processes
  [12520, 'resource-exhausted'], // listener could not find available handler for requested type of server
  [1000, 'resource-exhausted'], // maximum open cursors exceeded
  [4031, 'resource-exhausted'], // unable to allocate shared memory
  [4036, 'resource-exhausted'], // PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT
  [257, 'resource-exhausted'], // archiver error: the disk for the archived logs is full
  [1536, 'resource-exhausted'], // space quota exceeded for tablespace
  [1653, 'resource-exhausted'], // unable to extend table
  [1654, 'resource-exhausted'], // unable to extend index
  [1950, 'permission'], // user does not have quota on tablespace
  [900, 'unsupported'], // invalid SQL statement
  [904, 'unsupported'], // invalid identifier: a column or function this server does not know
  [907, 'unsupported'], // missing right parenthesis
  [923, 'unsupported'], // FROM keyword not found where expected
  [933, 'unsupported'], // SQL command not properly ended
  [2248, 'unsupported'], // invalid option for ALTER SESSION
  [1033, 'connection-lost'], // initialization or shutdown in progress
  [1034, 'connection-lost'], // the database instance is not available
  [1035, 'connection-lost'], // open only to users with RESTRICTED SESSION privilege
  [1090, 'connection-lost'], // shutdown in progress
  [1109, 'connection-lost'], // database not open
])

/**
 * Errors of the driver's own, from lib/errors.js of oracledb 26.0.0. NJS-500 stands for all that ends a session: the driver puts it in
 * place of ORA-00022, 00028 (killed), 00031, 00045, 00378, 00600, 00602, 00603, 00609, 01012, 01041, 01043, 01089, 01092, 02396
 * (IDLE_TIME), 03113, 03114, 03122, 03135, 12153, 12537, 12547, 12570, 12583, 27146, 28511, 56600, and keeps their text behind its own.
 */
export const byDriverCode: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ['NJS-003', 'connection-lost'], // invalid or closed connection
  ['NJS-500', 'connection-lost'], // connection to Oracle Database was closed or broken
  ['NJS-501', 'connection-lost'], // connection terminated unexpectedly
  ['NJS-503', 'connection-lost'], // connection could not be established: nobody listens, no such host
  ['NJS-504', 'connection-lost'], // the proxy could not be reached
  ['NJS-505', 'connection-lost'], // TLS could not be set up
  ['NJS-506', 'connection-lost'], // TLS handshake failure
  ['NJS-507', 'connection-lost'], // the server's certificate names somebody else
  ['NJS-508', 'connection-lost'], // the same, by host name
  ['NJS-509', 'connection-lost'], // invalid packet: the peer is no Oracle listener
  ['NJS-510', 'connection-lost'], // timed out while connecting
  ['NJS-511', 'connection-lost'], // the listener refused; the ORA- number behind `Cause:` decides where it is known
  ['NJS-513', 'connection-lost'], // told in-band that the session ends
  ['NJS-521', 'connection-lost'], // end-of-file
  ['NJS-530', 'connection-lost'], // the host does not resolve
  ['NJS-518', 'authentication'], // the service is not registered with the listener (ORA-12514)
  ['NJS-519', 'authentication'], // the SID is not registered with the listener (ORA-12505)
  ['NJS-512', 'authentication'], // the connect string is none, or names no database: like a wrong service, it is for the user to mend
  ['NJS-514', 'authentication'], // the same: syntax of a descriptor
  ['NJS-515', 'authentication'], // the same: syntax of Easy Connect
  ['NJS-516', 'authentication'], // the same: no directory for a name of tnsnames.ora
  ['NJS-517', 'authentication'], // the same: the name is not in tnsnames.ora
  ['NJS-520', 'authentication'], // the same: there is no tnsnames.ora
  ['NJS-123', 'query-timeout'], // callTimeout: the server was told to break off
  ['NJS-040', 'resource-exhausted'], // queueTimeout of the pool: no connection came free
  ['NJS-076', 'resource-exhausted'], // the pool's queue is full
  ['NJS-064', 'connection-lost'], // the pool is closing
  ['NJS-065', 'connection-lost'], // the pool is closed
  ['NJS-002', 'connection-lost'], // invalid pool
  ['NJS-138', 'unsupported'], // thin mode needs Oracle Database 12.1 or later
])
