// The primitives of Oracle's wire protocol (TTC) as oracledb 26.0.0 reads and writes them: lib/impl/datahandlers/buffer.js.

/** The bytes ended too early. */
export class ShortMessageError extends Error {}

export class TtcReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) { this.#bytes = bytes }

  get left(): number { return this.#bytes.length - this.#at }

  bytes(length: number): Buffer {
    if (length > this.left) throw new ShortMessageError(`${length} bytes wanted, ${this.left} are left`)
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  byte(): number { return this.bytes(1)[0] ?? 0 }
  skip(length: number): void { this.bytes(length) }

  /** An unsigned integer behind the number of its bytes. */
  integer(): number {
    const length = this.byte()
    return length === 0 ? 0 : Number(BigInt(`0x${this.bytes(length).toString('hex')}`))
  }

  skipIntegers(count: number): void { for (let index = 0; index < count; index += 1) this.integer() }

  /** Bytes behind their length; long ones in chunks. Null for none. */
  text(): Buffer | null {
    const length = this.byte()
    if (length === 0 || length === 255) return null
    if (length !== 254) return this.bytes(length)
    const chunks: Buffer[] = []
    for (let chunk = this.integer(); chunk > 0; chunk = this.integer()) chunks.push(this.bytes(chunk))
    return Buffer.concat(chunks)
  }

  /** Base-100 digits with an exponent: https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Data-Types.html (NUMBER). */
  number(): number | null {
    const bytes = this.text()
    if (bytes === null) return null
    const first = bytes[0] ?? 0
    if (bytes.length === 1 && first === 0x80) return 0
    const positive = first >= 0x80
    const exponent = (positive ? first : first ^ 0xff) - 193
    const digits = [...bytes.subarray(1)].filter((byte) => positive || byte !== 102).map((byte) => (positive ? byte - 1 : 101 - byte))
    const text = digits.map((digit) => String(digit).padStart(2, '0')).join('')
    const value = Number(`${text}e${(exponent + 1 - digits.length) * 2}`)
    return positive ? value : -value
  }
}

export class TtcWriter {
  readonly #parts: Buffer[] = []

  get buffer(): Buffer { return Buffer.concat(this.#parts) }

  bytes(bytes: Buffer | readonly number[]): this {
    this.#parts.push(Buffer.from(bytes as Uint8Array))
    return this
  }

  byte(value: number): this { return this.bytes([value & 0xff]) }

  integer(value: number): this {
    if (value === 0) return this.byte(0)
    const hex = value.toString(16)
    const bytes = Buffer.from(hex.padStart(hex.length + hex.length % 2, '0'), 'hex')
    return this.byte(bytes.length).bytes(bytes)
  }

  integers(...values: number[]): this {
    for (const value of values) this.integer(value)
    return this
  }

  text(value: Buffer | string | null): this {
    const bytes = value === null ? Buffer.alloc(0) : Buffer.from(value)
    if (bytes.length <= 252) return this.byte(bytes.length).bytes(bytes)
    this.byte(254)
    for (let at = 0; at < bytes.length; at += 32_767) {
      const chunk = bytes.subarray(at, at + 32_767)
      this.integer(chunk.length).bytes(chunk)
    }
    return this.byte(0)
  }

  /** A length, and then the bytes behind their length again. */
  counted(value: string): this {
    const bytes = Buffer.from(value)
    this.integer(bytes.length)
    return bytes.length === 0 ? this : this.text(bytes)
  }

  number(value: number | null): this {
    if (value === null) return this.byte(0)
    if (value === 0) return this.byte(1).byte(0x80)
    const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(plainDigits(value)) ?? []
    const padded = (whole.length % 2 === 1 ? '0' : '') + whole + fraction + (fraction.length % 2 === 1 ? '0' : '')
    const pairs = padded.match(/../g)?.map(Number) ?? []
    let exponent = Math.ceil(whole.length / 2)
    while (pairs[0] === 0) { pairs.shift(); exponent -= 1 }
    while (pairs.at(-1) === 0) pairs.pop()
    const negative = sign === '-'
    const first = exponent + 192
    const digits = pairs.map((pair) => (negative ? 101 - pair : pair + 1))
    const bytes = [negative ? first ^ 0xff : first, ...digits, ...(negative && digits.length < 20 ? [102] : [])]
    return this.byte(bytes.length).bytes(bytes)
  }
}

function plainDigits(value: number): string {
  const text = String(value)
  return text.includes('e') ? value.toFixed(20).replace(/0+$/, '').replace(/\.$/, '') : text
}
