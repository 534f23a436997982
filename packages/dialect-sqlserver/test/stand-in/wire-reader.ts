// Reading of what a client sends. [MS-TDS]: https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/

export const packetTypes = { batch: 0x01, rpc: 0x03, answer: 0x04, attention: 0x06, transaction: 0x0e, login: 0x10, prelogin: 0x12 } as const

export interface Message { readonly type: number; readonly body: Buffer }

const headerLength = 8
const endOfMessage = 0x01

/** Puts packets together into messages, 2.2.3.1. */
export class MessageReader {
  #buffer: Buffer = Buffer.alloc(0)
  #parts: Buffer[] = []

  read(chunk: Buffer): readonly Message[] {
    const messages: Message[] = []
    this.#buffer = Buffer.concat([this.#buffer, chunk])
    while (this.#buffer.length >= headerLength) {
      const length = this.#buffer.readUInt16BE(2)
      if (this.#buffer.length < length) break
      const [type, status] = [this.#buffer.readUInt8(0), this.#buffer.readUInt8(1)]
      this.#parts.push(this.#buffer.subarray(headerLength, length))
      this.#buffer = this.#buffer.subarray(length)
      if ((status & endOfMessage) === 0) continue
      const body = Buffer.concat(this.#parts)
      this.#parts = []
      messages.push({ type, body })
    }
    return messages
  }
}

export interface Login { readonly user: string; readonly password: string; readonly host: string; readonly application: string; readonly database: string }

/** LOGIN7, 2.2.6.4: offsets and lengths in characters, from byte 36 on. The password is folded and XORed, 2.2.6.4. */
export function readLogin(body: Buffer): Login {
  const raw = (at: number): Buffer => body.subarray(body.readUInt16LE(at), body.readUInt16LE(at) + 2 * body.readUInt16LE(at + 2))
  const text = (at: number): string => raw(at).toString('utf16le')
  const password = Buffer.from(raw(44)).map((byte) => { const plain = byte ^ 0xa5; return ((plain << 4) | (plain >> 4)) & 0xff })
  return { host: text(36), user: text(40), password: Buffer.from(password).toString('utf16le'), application: text(48), database: text(68) }
}

/** Requests begin with ALL_HEADERS, 2.2.5.3. */
function behindHeaders(body: Buffer): Buffer { return body.subarray(body.readUInt32LE(0)) }

export function readBatch(body: Buffer): string { return behindHeaders(body).toString('utf16le') }

export interface TransactionRequest { readonly kind: 'begin' | 'commit' | 'rollback'; readonly isolation: number }

/** 2.2.6.9 */
export function readTransaction(body: Buffer): TransactionRequest {
  const request = behindHeaders(body)
  const kind = ({ 5: 'begin', 7: 'commit', 8: 'rollback' } as const)[request.readUInt16LE(0)]
  if (kind === undefined) throw new Error(`transaction request ${request.readUInt16LE(0)} is not modelled`)
  return { kind, isolation: kind === 'begin' ? request.readUInt8(2) : 0 }
}

export type RpcValue = string | number | null

export interface RpcRequest { readonly procedure: string; readonly parameters: readonly { readonly name: string; readonly value: RpcValue }[] }

/** Procedures that have numbers, 2.2.6.6. */
const numbered: Readonly<Record<number, string>> = { 10: 'sp_executesql' }

/** 2.2.6.6 */
export function readRpc(body: Buffer): RpcRequest {
  const reader = new Cursor(behindHeaders(body))
  const length = reader.uint16()
  const number = length === 0xffff ? reader.uint16() : undefined
  const procedure = number === undefined ? reader.text(length) : numbered[number]
  if (procedure === undefined) throw new Error(`procedure number ${number} is not modelled`)
  reader.uint16() // option flags
  const parameters: { name: string; value: RpcValue }[] = []
  while (!reader.atEnd) {
    const name = reader.text(reader.uint8())
    reader.uint8() // status flags
    parameters.push({ name, value: readValue(reader) })
  }
  return { procedure, parameters }
}

const types = { intN: 0x26, bitN: 0x68, floatN: 0x6d, varchar: 0xa7, nvarchar: 0xe7 } as const
const nullLength = 0xffff
const partial = 0xffff

/** TYPE_INFO and the value, 2.2.5.4 to 2.2.5.6, for the types that the dialect and mssql bind. */
function readValue(reader: Cursor): RpcValue {
  const type = reader.uint8()
  switch (type) {
    case types.intN: case types.bitN: case types.floatN: {
      reader.uint8()
      const value = reader.bytes(reader.uint8())
      if (value.length === 0) return null
      if (type === types.floatN) return value.length === 8 ? value.readDoubleLE() : value.readFloatLE()
      return value.length === 8 ? Number(value.readBigInt64LE()) : value.readIntLE(0, value.length)
    }
    case types.varchar: case types.nvarchar: {
      const longest = reader.uint16()
      reader.bytes(5) // collation
      const value = longest === partial ? readPartial(reader) : readShort(reader)
      return value === null ? null : value.toString(type === types.nvarchar ? 'utf16le' : 'latin1')
    }
    default: throw new Error(`the type 0x${type.toString(16)} is not modelled`)
  }
}

function readShort(reader: Cursor): Buffer | null {
  const length = reader.uint16()
  return length === nullLength ? null : reader.bytes(length)
}

/** PLP, 2.2.5.2.3 */
function readPartial(reader: Cursor): Buffer | null {
  if (reader.bytes(8).equals(Buffer.alloc(8, 0xff))) return null
  const chunks: Buffer[] = []
  for (let length = reader.uint32(); length > 0; length = reader.uint32()) chunks.push(reader.bytes(length))
  return Buffer.concat(chunks)
}

class Cursor {
  readonly #buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) { this.#buffer = buffer }

  get atEnd(): boolean { return this.#at >= this.#buffer.length }
  uint8(): number { return this.bytes(1).readUInt8() }
  uint16(): number { return this.bytes(2).readUInt16LE() }
  uint32(): number { return this.bytes(4).readUInt32LE() }
  text(characters: number): string { return this.bytes(2 * characters).toString('utf16le') }

  bytes(length: number): Buffer {
    const bytes = this.#buffer.subarray(this.#at, this.#at + length)
    if (bytes.length < length) throw new Error('the request is shorter than it says')
    this.#at += length
    return bytes
  }
}
