// Writing of what a server answers. [MS-TDS] 2.2.7: https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/
import { packetTypes } from './wire-reader.ts'

const packetSize = 4096

/** A message as packets, 2.2.3.1. */
export function packets(body: Buffer, spid: number): Buffer {
  const parts: Buffer[] = []
  const room = packetSize - 8
  for (let at = 0, id = 1; at === 0 || at < body.length; at += room, id += 1) {
    const part = body.subarray(at, at + room)
    const header = Buffer.alloc(8)
    header.writeUInt8(packetTypes.answer, 0)
    header.writeUInt8(at + room >= body.length ? 1 : 0, 1)
    header.writeUInt16BE(part.length + 8, 2)
    header.writeUInt16BE(spid & 0xffff, 4)
    header.writeUInt8(id & 0xff, 6)
    parts.push(header, part)
  }
  return Buffer.concat(parts)
}

/** 2.2.6.5: version, no encryption, and nothing else. */
export function preloginAnswer(): Buffer {
  const options = [{ token: 0, data: Buffer.from([16, 0, 0x10, 0, 0, 0]) }, { token: 1, data: Buffer.from([0x02]) }, { token: 2, data: Buffer.from([0]) }, { token: 4, data: Buffer.from([0]) }]
  let offset = options.length * 5 + 1
  const heads = options.map(({ token, data }) => {
    const head = Buffer.alloc(5)
    head.writeUInt8(token, 0)
    head.writeUInt16BE(offset, 1)
    head.writeUInt16BE(data.length, 3)
    offset += data.length
    return head
  })
  return Buffer.concat([...heads, Buffer.from([0xff]), ...options.map(({ data }) => data)])
}

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')
const uint8 = (value: number): Buffer => Buffer.from([value & 0xff])
const uint16 = (value: number): Buffer => { const buffer = Buffer.alloc(2); buffer.writeUInt16LE(value); return buffer }
const uint32 = (value: number): Buffer => { const buffer = Buffer.alloc(4); buffer.writeUInt32LE(value); return buffer }
const int32 = (value: number): Buffer => { const buffer = Buffer.alloc(4); buffer.writeInt32LE(value); return buffer }
const uint64 = (value: number): Buffer => { const buffer = Buffer.alloc(8); buffer.writeBigUInt64LE(BigInt(value)); return buffer }
const shortText = (text: string): Buffer => Buffer.concat([uint8(text.length), utf16(text)])
const longText = (text: string): Buffer => Buffer.concat([uint16(text.length), utf16(text)])

function sized(token: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([uint8(token), uint16(body.length), body])
}

/** SQL_Latin1_General_CP1_CI_AS */
const collation = Buffer.from([0x09, 0x04, 0xd0, 0x00, 0x34])

export function loginAck(): Buffer {
  return sized(0xad, uint8(1), Buffer.from([0x74, 0x00, 0x00, 0x04]), shortText('SQL Server stand-in'), Buffer.from([16, 0, 0x10, 0]))
}

export interface ServerMessage { readonly number: number; readonly severity: number; readonly message: string; readonly state?: number }

function messageToken(token: number, { number, severity, message, state = 1 }: ServerMessage): Buffer {
  return sized(token, int32(number), uint8(state), uint8(severity), longText(message), shortText('stand-in'), shortText(''), uint32(1))
}

export function errorToken(message: ServerMessage): Buffer { return messageToken(0xaa, message) }
export function infoToken(message: ServerMessage): Buffer { return messageToken(0xab, message) }

/** ENVCHANGE, 2.2.7.9. */
export const environment = {
  database: (name: string): Buffer => sized(0xe3, uint8(1), shortText(name), shortText('')),
  collation: (): Buffer => sized(0xe3, uint8(7), uint8(collation.length), collation, uint8(0)),
  began: (descriptor: Buffer): Buffer => sized(0xe3, uint8(8), uint8(8), descriptor, uint8(0)),
  committed: (descriptor: Buffer): Buffer => sized(0xe3, uint8(9), uint8(0), uint8(8), descriptor),
  rolledBack: (descriptor: Buffer): Buffer => sized(0xe3, uint8(10), uint8(0), uint8(8), descriptor),
}

export const doneFlags = { more: 0x01, error: 0x02, count: 0x10, attention: 0x20 } as const

function done(token: number, flags: number, rows: number): Buffer { return Buffer.concat([uint8(token), uint16(flags), uint16(0), uint64(rows)]) }

/** DONE, DONEPROC, DONEINPROC, 2.2.7.6 to 2.2.7.8. */
export const doneToken = (flags: number, rows = 0): Buffer => done(0xfd, flags, rows)
export const doneProcToken = (flags: number, rows = 0): Buffer => done(0xfe, flags, rows)
export const doneInProcToken = (flags: number, rows = 0): Buffer => done(0xff, flags, rows)

export function returnStatusToken(status: number): Buffer { return Buffer.concat([uint8(0x79), int32(status)]) }

export type Cell = string | number | null

/** COLMETADATA and a ROW each, 2.2.7.4 and 2.2.7.19: numbers as bigint or float, text as nvarchar(max). */
export function resultTokens(columns: readonly string[], rows: readonly (readonly Cell[])[]): Buffer {
  const kinds = columns.map((_name, index) => kindOf(rows.map((row) => row[index] ?? null)))
  const metadata = columns.map((name, index) => Buffer.concat([uint32(0), uint16(0x0009), typeInfo[kinds[index]!], shortText(name)]))
  return Buffer.concat([
    uint8(0x81), uint16(columns.length), ...metadata,
    ...rows.map((row) => Buffer.concat([uint8(0xd1), ...row.map((cell, index) => cellBytes(kinds[index]!, cell))])),
  ])
}

type Kind = 'integer' | 'float' | 'text'

const typeInfo: Readonly<Record<Kind, Buffer>> = {
  integer: Buffer.from([0x26, 8]),
  float: Buffer.from([0x6d, 8]),
  text: Buffer.concat([Buffer.from([0xe7, 0xff, 0xff]), collation]),
}

function kindOf(cells: readonly Cell[]): Kind {
  if (cells.some((cell) => typeof cell === 'string')) return 'text'
  if (cells.every((cell) => cell === null)) return 'text'
  return cells.every((cell) => cell === null || Number.isInteger(cell)) ? 'integer' : 'float'
}

function cellBytes(kind: Kind, cell: Cell): Buffer {
  if (kind === 'text') {
    if (cell === null) return Buffer.alloc(8, 0xff)
    const data = utf16(String(cell))
    return Buffer.concat([uint64(data.length), ...(data.length === 0 ? [] : [uint32(data.length), data]), uint32(0)])
  }
  if (cell === null) return uint8(0)
  const bytes = Buffer.alloc(8)
  if (kind === 'integer') bytes.writeBigInt64LE(BigInt(cell))
  else bytes.writeDoubleLE(Number(cell))
  return Buffer.concat([uint8(8), bytes])
}
