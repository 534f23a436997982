import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

// The exchange of keys behind a logon with an 11g verifier, the server's half of what lib/thin/protocol/encryptDecrypt.js of
// oracledb 26.0.0 does: both sides prove that they know the password, neither sends it in the clear.

const noVector = Buffer.alloc(16)

export class LogonStandIn {
  readonly #salt = randomBytes(10)
  readonly #serverKey = randomBytes(48)
  readonly #passwordKey: Buffer

  constructor(password: string) {
    const hash = createHash('sha1').update(password, 'utf8').update(this.#salt).digest()
    this.#passwordKey = Buffer.concat([hash, Buffer.alloc(4)])
  }

  /** The answer to the first phase: the key, encrypted with the verifier, and the verifier's salt and kind. */
  get challenge(): readonly (readonly [key: string, value: string, flag: number])[] {
    return [['AUTH_SESSKEY', hex(encrypt(this.#passwordKey, this.#serverKey)), 0], ['AUTH_VFR_DATA', hex(this.#salt), 0xb152]]
  }

  /** The proof for the client that this is its server, or undefined when the client's password is another. */
  accept(sessionKey: string, encryptedPassword: string, password: string): string | undefined {
    const clientKey = decrypt(this.#passwordKey, Buffer.from(sessionKey, 'hex'))
    const mixed = Buffer.from(this.#serverKey.subarray(16, 40).map((byte, index) => byte ^ (clientKey[16 + index] ?? 0)))
    const combined = Buffer.concat([md5(mixed.subarray(0, 16)), md5(mixed.subarray(16))]).subarray(0, 24)
    const given = decrypt(combined, Buffer.from(encryptedPassword, 'hex')).subarray(16)
    const padding = given.at(-1) ?? 0
    if (given.subarray(0, given.length - padding).toString('utf8') !== password) return undefined
    return hex(encrypt(combined, Buffer.concat([randomBytes(16), Buffer.from('SERVER_TO_CLIENT')])))
  }
}

function encrypt(key: Buffer, value: Buffer): Buffer {
  const cipher = createCipheriv('aes-192-cbc', key, noVector).setAutoPadding(false)
  return Buffer.concat([cipher.update(value), cipher.final()])
}

function decrypt(key: Buffer, value: Buffer): Buffer {
  const decipher = createDecipheriv('aes-192-cbc', key, noVector).setAutoPadding(false)
  return Buffer.concat([decipher.update(value), decipher.final()])
}

function md5(value: Buffer): Buffer { return createHash('md5').update(value).digest() }
function hex(value: Buffer): string { return value.toString('hex').toUpperCase() }
