// Packets of Oracle Net as oracledb 26.0.0 reads and writes them: lib/thin/sqlnet/{constants,packet,networkSession}.js.

export const packetType = { connect: 1, accept: 2, refuse: 4, data: 6, marker: 12 } as const
export const marker = { break: 1, reset: 2, interrupt: 3 } as const

export interface TnsPacket { readonly type: number; readonly body: Buffer }

/** The last packet of a request carries this flag. */
const endOfRequest = 0x800
/** Protocol 315: lengths of four bytes, and nothing newer than that. */
const version = 315
const unit = 8_192

/** Cuts a stream into packets. Until the connection is accepted the length has two bytes. */
export class PacketStream {
  #rest = Buffer.alloc(0)
  large = false

  push(chunk: Buffer): TnsPacket[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const packets: TnsPacket[] = []
    for (let next = this.#next(); next !== undefined; next = this.#next()) packets.push(next)
    return packets
  }

  #next(): TnsPacket | undefined {
    if (this.#rest.length < 8) return undefined
    const length = this.large ? this.#rest.readUInt32BE(0) : this.#rest.readUInt16BE(0)
    if (length < 8 || this.#rest.length < length) return undefined
    const packet = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return { type: packet[4] ?? 0, body: Buffer.from(packet.subarray(8)) }
  }
}

function packet(type: number, body: Buffer, large: boolean): Buffer {
  const header = Buffer.alloc(8)
  if (large) header.writeUInt32BE(8 + body.length, 0)
  else header.writeUInt16BE(8 + body.length, 0)
  header[4] = type
  return Buffer.concat([header, body])
}

/** A message, after two bytes of flags. */
export function dataPacket(message: Buffer): Buffer { return packet(packetType.data, Buffer.concat([Buffer.alloc(2), message]), true) }

export function markerPacket(kind: number): Buffer { return packet(packetType.marker, Buffer.from([1, 0, kind]), true) }

export function acceptPacket(): Buffer {
  const body = Buffer.alloc(37)
  body.writeUInt16BE(version, 0)
  body.writeUInt16BE(unit, 4) // session data unit
  body.writeUInt16BE(unit, 6) // transport data unit
  body[14] = 0x08 // no native services: encryption and checksums are negotiated by nobody
  body[15] = 0x08
  body.writeUInt32BE(unit, 24)
  body.writeUInt32BE(unit, 28)
  return packet(packetType.accept, body, false)
}

export function refusePacket(error: number): Buffer {
  const text = Buffer.from(`(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR=${error})(ERROR_STACK=(ERROR=(CODE=${error})(EMFI=4))))`)
  const head = Buffer.alloc(4)
  head.writeUInt16BE(text.length, 2)
  return packet(packetType.refuse, Buffer.concat([head, text]), false)
}

/** The connect data, or undefined when it follows in a data packet of its own. */
export function connectDataOf(body: Buffer): string | undefined {
  const offset = body.readUInt16BE(18) - 8
  return body.length > offset ? body.subarray(offset).toString('ascii') : undefined
}

/** What a data packet carries, and whether the request ends with it. */
export function dataOf(body: Buffer): { readonly message: Buffer; readonly last: boolean } {
  return { message: body.subarray(2), last: (body.readUInt16BE(0) & endOfRequest) !== 0 }
}
