import type { AddressInfo } from 'node:net'
import mysql2 from 'mysql2'
import { onTestFinished } from 'vitest'

/** What a stand-in says of itself. */
export interface StandIn {
  /** In the handshake; default: the variable `version`. */
  readonly handshakeVersion?: string
  readonly variables: Readonly<Record<string, string>>
  /** The session's id in the handshake, when it differs from `pseudo_thread_id`. */
  readonly handshakeId?: number
  /** Rows by what a statement begins with; anything else is error 1064. */
  readonly answers?: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>
}

// PROTOCOL_41, SECURE_CONNECTION, TRANSACTIONS, CONNECT_WITH_DB, FOUND_ROWS: no TLS, no compression, none of the extensions.
const capabilityFlags = 0x0000_a20a

interface ServerSide {
  /** Of the next packet. The driver's server does not begin anew with each command by itself. */
  sequenceId: number
  serverHandshake(options: object): unknown
  on(event: 'query' | 'stmt_prepare', listener: (sql: string) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  writeTextResult(rows: readonly object[], columns: readonly object[]): void
  writeOk(): void
  writeError(error: { code: number; message: string }): void
}

/**
 * NOT A DATABASE: a handshake and canned answers, for products that are not to be had here. It shows that their own words are
 * understood, not what they really do. Returns its URL.
 */
export async function standIn({ variables, handshakeVersion, handshakeId, answers = {} }: StandIn): Promise<string> {
  const server = mysql2.createServer(() => {}) as unknown as { on(event: 'connection', listener: (connection: ServerSide) => void): void; listen(port: number, host: string, done: () => void): void; close(): void; _server: { address(): AddressInfo } }
  let ids = 100
  server.on('connection', (connection) => {
    ids += 1
    const sessionId = ids
    connection.on('error', () => {}) // the client has gone
    connection.serverHandshake({
      protocolVersion: 10, serverVersion: handshakeVersion ?? variables['version'], connectionId: handshakeId ?? sessionId, statusFlags: 2, characterSet: 45, capabilityFlags,
      authCallback: (_account: unknown, done: (error: null) => void) => {
        done(null)
        connection.sequenceId = 0
      },
    })
    const reply = (sql: string): void => {
      connection.sequenceId = 1
      answer(sql)
      connection.sequenceId = 0
    }
    const answer = (sql: string): void => {
      if (/^SET |^DO /i.test(sql)) { connection.writeOk(); return }
      if (sql.startsWith('SHOW SESSION VARIABLES')) {
        const known: Record<string, string> = { pseudo_thread_id: String(sessionId), ...variables }
        write(connection, Object.entries(known).filter(([name]) => sql.includes(`'${name}'`)).map(([name, value]) => ({ Variable_name: name, Value: value })))
        return
      }
      const found = Object.entries(answers).find(([start]) => sql.startsWith(start))
      if (found === undefined) connection.writeError({ code: 1064, message: 'You have an error in your SQL syntax' })
      else write(connection, found[1])
    }
    connection.on('query', reply)
    connection.on('stmt_prepare', reply)
  })
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  onTestFinished(() => { server.close() })
  return `mysql://user:sched-test-only@127.0.0.1:${server._server.address().port}/app`
}

function write(connection: ServerSide, rows: readonly Readonly<Record<string, string>>[]): void {
  const names = Object.keys(rows[0] ?? { nothing: '' })
  const integers = new Set(names.filter((name) => rows.every((row) => /^\d+$/.test(row[name] ?? '')) && name !== 'Value'))
  connection.writeTextResult(rows, names.map((name) => ({
    catalog: 'def', schema: '', table: '', orgTable: '', name, orgName: name, characterSet: 45, columnLength: 255, columnType: integers.has(name) ? 8 : 253, flags: 0, decimals: 0,
  })))
}
