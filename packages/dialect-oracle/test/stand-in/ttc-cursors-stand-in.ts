import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import type { SessionStandIn } from './session-stand-in.ts'
import type { ColumnStandIn, ValueStandIn } from './tables-stand-in.ts'
import { describeAnswer, endAnswer, ioVectorAnswer, noMoreRows, outRowAnswer, rowsAnswer } from './ttc-answers-stand-in.ts'
import type { TtcReader } from './ttc-buffer-stand-in.ts'
import type { LobsStandIn } from './ttc-lobs-stand-in.ts'
import { assignedBinds, bindNames, dataType, isBlock, messageType, readExecute, readValue, type BindStandIn } from './ttc-requests-stand-in.ts'

interface Cursor {
  readonly id: number
  readonly sql: string
  readonly names: readonly string[]
  readonly out: ReadonlySet<string>
  binds: readonly BindStandIn[]
  columns: readonly ColumnStandIn[]
  rows: readonly (readonly ValueStandIn[])[]
}

/** The statements of one session that are parsed, with the rows that have not been fetched. */
export class CursorsStandIn {
  readonly #session: SessionStandIn
  readonly #lobs: LobsStandIn
  readonly #cursors = new Map<number, Cursor>()
  #nextId = 1

  constructor(session: SessionStandIn, lobs: LobsStandIn) {
    this.#session = session
    this.#lobs = lobs
  }

  close(id: number): void { this.#cursors.delete(id) }

  async execute(reader: TtcReader): Promise<Buffer> {
    const request = readExecute(reader)
    const cursor = request.sql === undefined ? this.#known(request.cursorId) : this.#parsed(request.sql)
    if (request.define) return this.#rows(cursor, request.fetchRows === 0 ? Infinity : request.fetchRows)
    cursor.binds = request.binds
    return this.#run(cursor, this.#values(reader, cursor, false), { commit: request.commit, fetchRows: request.fetchRows, first: true, parsed: request.sql !== undefined })
  }

  /** Only what goes in is sent, and nothing is described. */
  async reexecute(reader: TtcReader): Promise<Buffer> {
    const cursor = this.#known(reader.integer())
    const iterations = reader.integer()
    reader.integer()
    const commit = (reader.integer() & 1) !== 0
    return this.#run(cursor, this.#values(reader, cursor, true), { commit, fetchRows: iterations, first: false, parsed: false })
  }

  async fetch(reader: TtcReader): Promise<Buffer> {
    const cursor = this.#known(reader.integer())
    return this.#rows(cursor, reader.integer())
  }

  #parsed(sql: string): Cursor {
    const cursor: Cursor = { id: this.#nextId++, sql, names: bindNames(sql), out: isBlock(sql) ? assignedBinds(sql) : new Set(), binds: [], columns: [], rows: [] }
    this.#cursors.set(cursor.id, cursor)
    return cursor
  }

  #known(id: number): Cursor {
    const cursor = this.#cursors.get(id)
    if (cursor === undefined) throw new OracleErrorStandIn(1001, 'invalid cursor')
    return cursor
  }

  #values(reader: TtcReader, { names, binds, out }: Cursor, onlyIn: boolean): Map<string, ValueStandIn> {
    if (names.length !== binds.length) throw new OracleErrorStandIn(1008, 'not all variables bound')
    const values = new Map<string, ValueStandIn>()
    const sent = names.filter((name) => !onlyIn || !out.has(name))
    if (sent.length === 0) return values
    if (reader.byte() !== messageType.row) throw new NotModelledError('binds that are no row')
    names.forEach((name, index) => {
      if (sent.includes(name)) values.set(name, readValue(reader, binds[index] as BindStandIn, (locator) => this.#lobs.text(locator)))
    })
    return values
  }

  async #run(cursor: Cursor, values: Map<string, ValueStandIn>, how: { commit: boolean; fetchRows: number; first: boolean; parsed: boolean }): Promise<Buffer> {
    let answer
    try {
      answer = await this.#session.execute(cursor.sql, values, how.commit)
    } catch (error) {
      // The error names no cursor: the client forgets one it has not heard of, and keeps the others.
      if (how.parsed) this.#cursors.delete(cursor.id)
      throw error
    }
    if (isBlock(cursor.sql)) {
      const outs = cursor.names.map((name, index) => ({ name, bind: cursor.binds[index] as BindStandIn })).filter(({ name }) => cursor.out.has(name))
      mustFit(outs.map(({ name, bind }) => ({ bind, value: answer.binds.get(name) })))
      return Buffer.concat([
        ...(how.first && cursor.names.length > 0 ? [ioVectorAnswer(cursor.names.map((name) => cursor.out.has(name)))] : []),
        outRowAnswer(outs.map(({ name, bind }) => ({ bind, value: answer.binds.get(name) ?? null }))), this.#end(cursor, 0, 0),
      ])
    }
    // A column of nothing but NULL has no type in SQLite: when one turns up later, the cursor is described again.
    const described = how.first || JSON.stringify(cursor.columns) !== JSON.stringify(answer.columns)
    cursor.columns = answer.columns
    cursor.rows = answer.rows
    if (answer.columns.length === 0) return this.#end(cursor, 0, answer.affected)
    // With a CLOB among the columns nothing is fetched until the client has said how it wants it.
    const lobs = answer.columns.some(({ type }) => type === 'CLOB')
    const rows = lobs && how.first ? this.#end(cursor, 0, 0) : this.#rows(cursor, how.fetchRows)
    return Buffer.concat([...(described ? [describeAnswer(answer.columns)] : []), rows])
  }

  #rows(cursor: Cursor, most: number): Buffer {
    const now = cursor.rows.slice(0, most)
    cursor.rows = cursor.rows.slice(now.length)
    return Buffer.concat([rowsAnswer(cursor.columns, now), this.#end(cursor, cursor.rows.length === 0 ? noMoreRows : 0, now.length)])
  }

  #end(cursor: Cursor, number: number, rowCount: number): Buffer {
    return endAnswer({ number, text: number === noMoreRows ? 'ORA-01403: no data found\n' : '', cursorId: cursor.id, rowCount, inTransaction: this.#session.inTransaction })
  }
}

/** https://docs.oracle.com/en/error-help/db/ora-06502/ */
function mustFit(outs: readonly { readonly bind: BindStandIn; readonly value: unknown }[]): void {
  for (const { bind, value } of outs) {
    if (bind.type === dataType.varchar && typeof value === 'string' && Buffer.byteLength(value) > bind.maxSize) {
      throw new OracleErrorStandIn(6502, 'PL/SQL: value or conversion error: character string buffer too small')
    }
  }
}
