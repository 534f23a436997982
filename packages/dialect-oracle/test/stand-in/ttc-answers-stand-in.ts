import type { ColumnStandIn, ValueStandIn } from './tables-stand-in.ts'
import { TtcWriter } from './ttc-buffer-stand-in.ts'
import { dataType, messageType, type BindStandIn } from './ttc-requests-stand-in.ts'

// Answers as oracledb 26.0.0 reads them for the field version of 11.2: lib/thin/protocol/messages/{base,withData,protocol,dataType,auth}.js.

const al32utf8 = 873
const al16utf16 = 2_000
const fieldVersion = 6 // 11.2: the fewest fields that the driver still takes
const inTransactionFlag = 0x02

export const noMoreRows = 1_403

export function protocolAnswer(): Buffer {
  const set = Buffer.alloc(11)
  set.writeUInt16BE(al16utf16, 9)
  const compile = Buffer.alloc(53)
  compile[7] = fieldVersion
  const charset = Buffer.alloc(2)
  charset.writeUInt16LE(al32utf8)
  return new TtcWriter().byte(messageType.protocol).byte(6).byte(0).bytes(Buffer.from('stand-in for Oracle\0')).bytes(charset)
    .byte(1).bytes([0, 0]).bytes([0, set.length]).bytes(set).text(compile).text(Buffer.alloc(7)).buffer
}

/** No type is converted. */
export function dataTypesAnswer(): Buffer { return new TtcWriter().byte(messageType.dataTypes).bytes([0, 0]).buffer }

export function pairsAnswer(pairs: readonly (readonly [key: string, value: string, flag: number])[]): Buffer {
  const writer = new TtcWriter().byte(messageType.parameter).integer(pairs.length)
  for (const [key, value, flag] of pairs) writer.counted(key).counted(value).integer(flag)
  return Buffer.concat([writer.buffer, statusAnswer(false)])
}

export function statusAnswer(inTransaction: boolean): Buffer {
  return new TtcWriter().byte(messageType.status).integer(inTransaction ? inTransactionFlag : 0).integer(0).buffer
}

export interface CallEnd { readonly number: number; readonly text: string; readonly cursorId: number; readonly rowCount: number; readonly inTransaction: boolean }

/** How every call ends: 0, or an error with its text. */
export function endAnswer({ number, text, cursorId, rowCount, inTransaction }: CallEnd): Buffer {
  const writer = new TtcWriter().byte(messageType.error).integer(inTransaction ? inTransactionFlag : 0).integers(0, 0, 0, 0, 0, cursorId, 0)
    .bytes([0, 0, 0, 0, 0, 0]) // kind of statement, fatal, flags, cursor options, UPI parameter, warning
    .integers(0, 0).byte(0).integers(0, 0) // row id
    .integer(0).byte(0).byte(0).integers(0, 0, 0) // operating system, statement, call, padding, iterations, logical row id
    .integers(0, 0, 0) // batch errors, their offsets, their messages
    .integers(number, rowCount)
  return (number === 0 ? writer : writer.text(text)).buffer
}

export function describeAnswer(columns: readonly ColumnStandIn[]): Buffer {
  const writer = new TtcWriter().byte(messageType.describe).byte(0).integers(0, columns.length)
  if (columns.length > 0) writer.byte(0)
  columns.forEach(({ name, type }, index) => {
    const number = type === 'NUMBER'
    const size = number ? 22 : longestVarchar
    writer.byte(number ? dataType.number : type === 'CLOB' ? dataType.clob : dataType.varchar).bytes([0, 0, number ? 0x81 : 0]).integers(size, 0, 0, 0, 0, number ? 0 : al32utf8)
      .byte(number ? 0 : 1).integer(size).byte(1).byte(Math.min(30, name.length)).counted(name).integers(0, 0, index + 1, 0)
  })
  return writer.integers(0, 0, 0, 0, 0, 0).buffer
}

/** Rows of a query. */
export function rowsAnswer(columns: readonly ColumnStandIn[], rows: readonly (readonly ValueStandIn[])[]): Buffer {
  const writer = new TtcWriter()
  if (rows.length > 0) writer.byte(messageType.rowHeader).byte(0).integers(columns.length, 0, rows.length, 0, 0, 0)
  for (const row of rows) {
    writer.byte(messageType.row)
    columns.forEach(({ type }, index) => {
      const value = row[index] ?? null
      if (type === 'NUMBER') writer.number(value as number | null)
      else writer.text(value === null ? null : String(value))
      // Fetched as LONG: an indicator and a return code follow.
      if (type === 'CLOB') writer.integers(0, 0)
    })
  }
  return writer.buffer
}

const longestVarchar = 4_000

/** Which binds a block answers. */
export function ioVectorAnswer(directions: readonly boolean[]): Buffer {
  const writer = new TtcWriter().byte(messageType.ioVector).byte(0).integers(directions.length % 256, Math.floor(directions.length / 256), 0, 0, 0, 0)
  for (const out of directions) writer.byte(out ? 16 : 32)
  return writer.buffer
}

export function outRowAnswer(binds: readonly { readonly bind: BindStandIn; readonly value: string | number | boolean | null }[]): Buffer {
  if (binds.length === 0) return Buffer.alloc(0)
  const writer = new TtcWriter().byte(messageType.row)
  for (const { bind, value } of binds) {
    if (bind.type === dataType.number || bind.type === dataType.integer) writer.number(value === null ? null : Number(value))
    else writer.text(value === null ? null : String(value))
    writer.integer(0)
  }
  return writer.buffer
}
