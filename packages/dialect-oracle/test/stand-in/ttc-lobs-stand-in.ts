import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import { statusAnswer } from './ttc-answers-stand-in.ts'
import { TtcWriter, type TtcReader } from './ttc-buffer-stand-in.ts'
import { messageType } from './ttc-requests-stand-in.ts'

const operations = { write: 0x40, createTemporary: 0x110, chunkSize: 0x4000 } as const
const locatorLength = 40

/** Temporary CLOBs of a session, which long binds travel in: lib/thin/protocol/messages/lobOp.js of oracledb 26.0.0. */
export class LobsStandIn {
  readonly #texts = new Map<string, string>()
  #next = 1

  text(locator: string): string {
    const text = this.#texts.get(locator)
    if (text === undefined) throw new OracleErrorStandIn(22922, 'nonexistent LOB value')
    return text
  }

  call(reader: TtcReader): Buffer {
    const hasLocator = reader.byte() === 1
    const length = reader.integer()
    reader.byte()
    reader.skipIntegers(3)
    reader.skip(3)
    const operation = reader.integer()
    reader.skip(2)
    reader.skipIntegers(2)
    const hasAmount = reader.byte() === 1
    reader.skip(6)
    if (!hasLocator || length !== locatorLength) throw new NotModelledError('a LOB call without a locator')
    let locator = Buffer.from(reader.bytes(length))
    if (operation === operations.createTemporary) {
      locator = Buffer.alloc(locatorLength)
      locator.writeUInt32BE(this.#next++, 0)
      this.#texts.set(locator.toString('hex'), '')
    } else if (operation === operations.write) {
      if (reader.byte() !== messageType.lobData) throw new NotModelledError('a LOB write without data')
      this.#texts.set(locator.toString('hex'), reader.text()?.toString('utf8') ?? '')
    } else if (operation !== operations.chunkSize) throw new NotModelledError(`the LOB operation ${operation}`)
    const writer = new TtcWriter().byte(messageType.parameter).bytes(locator)
    if (operation === operations.createTemporary) writer.integer(873).byte(0)
    else if (hasAmount) writer.integer(8_132)
    return Buffer.concat([writer.buffer, statusAnswer(false)])
  }

  /** Locators that the client needs no more, behind the same head. */
  free(reader: TtcReader): void {
    reader.byte()
    const bytes = reader.integer()
    reader.byte()
    reader.skipIntegers(3)
    reader.skip(3)
    reader.integer()
    reader.byte()
    reader.skipIntegers(3)
    reader.skip(1)
    for (let group = 0; group < 3; group += 1) { reader.byte(); reader.integer() }
    for (let left = bytes; left > 0; left -= locatorLength) this.#texts.delete(reader.bytes(locatorLength).toString('hex'))
  }
}
