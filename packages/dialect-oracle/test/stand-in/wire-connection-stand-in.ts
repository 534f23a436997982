import type { Socket } from 'node:net'
import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import type { OracleServerStandIn } from './server-stand-in.ts'
import type { SessionStandIn } from './session-stand-in.ts'
import { acceptPacket, connectDataOf, dataOf, dataPacket, marker, markerPacket, packetType, PacketStream, refusePacket, type TnsPacket } from './tns-packets-stand-in.ts'
import { dataTypesAnswer, endAnswer, pairsAnswer, protocolAnswer, statusAnswer } from './ttc-answers-stand-in.ts'
import { TtcReader } from './ttc-buffer-stand-in.ts'
import { CursorsStandIn } from './ttc-cursors-stand-in.ts'
import { LobsStandIn } from './ttc-lobs-stand-in.ts'
import { LogonStandIn } from './ttc-logon-stand-in.ts'
import { callCode, messageType, readPairs } from './ttc-requests-stand-in.ts'

// https://docs.oracle.com/en/error-help/db/ora-12514/
const serviceUnknown = 12_514

/** What the tests do to a connection on its way. */
export interface WireFaults {
  /** The listener drops the connection once the logon is done. */
  readonly dropAfterLogon?: boolean
}

/** One connection of a client: Oracle Net, logon, and calls one after the other. */
export class WireConnectionStandIn {
  readonly #server: OracleServerStandIn
  readonly #socket: Socket
  readonly #faults: WireFaults
  readonly #stream = new PacketStream()
  readonly #lobs = new LobsStandIn()
  #request: Buffer[] = []
  #connecting = true
  #session: SessionStandIn | undefined
  #cursors: CursorsStandIn | undefined
  #logon: LogonStandIn | undefined
  #tail: Promise<void> = Promise.resolve()
  /** Set from a break until the reset that answers it: what is on its way is not sent any more. */
  #breaking = false

  constructor(server: OracleServerStandIn, socket: Socket, faults: WireFaults = {}) {
    this.#server = server
    this.#socket = socket
    this.#faults = faults
    socket.setNoDelay(true)
    socket.on('data', (chunk) => { for (const packet of this.#stream.push(chunk)) this.#received(packet) })
    socket.on('error', () => {}) // followed by 'close'
    socket.on('close', () => { this.#session?.clientGone() })
  }

  #received({ type, body }: TnsPacket): void {
    if (this.#connecting) { this.#connect(type, body); return }
    if (type === packetType.marker) { this.#marked(body[2] ?? 0); return }
    if (type !== packetType.data) { this.#socket.destroy(); return }
    const { message, last } = dataOf(body)
    this.#request.push(message)
    if (!last) return
    const request = Buffer.concat(this.#request)
    this.#request = []
    if (request.length === 0) { this.#socket.end(); return } // the client's end-of-file
    this.#tail = this.#tail.then(() => this.#answer(request))
  }

  #connect(type: number, body: Buffer): void {
    if (type === packetType.connect) {
      const data = connectDataOf(body)
      if (data !== undefined) this.#decide(data)
    } else this.#decide(body.subarray(2).toString('ascii'))
  }

  #decide(connectData: string): void {
    const service = /SERVICE_NAME=([^)]*)/i.exec(connectData)?.[1]
    if (service?.toLowerCase() !== (this.#server.options.service ?? 'standin').toLowerCase()) {
      this.#socket.end(refusePacket(serviceUnknown))
      return
    }
    this.#connecting = false
    this.#stream.large = true
    this.#socket.write(acceptPacket())
  }

  /** The client interrupts: its call is cancelled; it then asks for a reset, after which the call's answer follows. */
  #marked(kind: number): void {
    if (kind === marker.reset) {
      this.#socket.write(markerPacket(marker.reset))
      // Whatever was running has been cancelled, or had just ended: either way the client gets the same answer.
      this.#tail = this.#tail.then(() => {
        this.#breaking = false
        this.#send(this.#failed(new OracleErrorStandIn(1013, 'User requested cancel of current operation.')))
      })
      return
    }
    this.#breaking = true
    this.#socket.write(markerPacket(marker.break))
    this.#session?.break()
  }

  async #answer(request: Buffer): Promise<void> {
    let answer: Buffer
    try {
      answer = await this.#message(new TtcReader(request))
    } catch (error) {
      answer = this.#failed(error)
    }
    if (this.#breaking) return
    this.#send(answer)
    if (this.#session?.ended === true) this.#socket.end()
  }

  #send(answer: Buffer): void { if (!this.#socket.destroyed) this.#socket.write(dataPacket(answer)) }

  #failed(error: unknown): Buffer {
    // What is not modelled must be seen: as an internal error, which ends the session.
    const { number, message } = error instanceof OracleErrorStandIn ? error : { number: 600, message: `ORA-00600: ${error instanceof Error ? error.stack ?? error.message : String(error)}` }
    return endAnswer({ number, text: `${message}\n`, cursorId: 0, rowCount: 0, inTransaction: this.#session?.inTransaction ?? false })
  }

  async #message(reader: TtcReader): Promise<Buffer> {
    const type = reader.byte()
    if (type === messageType.protocol) return protocolAnswer()
    if (type === messageType.dataTypes) return dataTypesAnswer()
    const code = reader.byte()
    reader.byte() // sequence
    if (type === messageType.piggyback) {
      this.#piggyback(code, reader)
      return this.#message(reader)
    }
    if (type !== messageType.call) throw new NotModelledError(`the message ${type}`)
    return this.#call(code, reader)
  }

  #piggyback(code: number, reader: TtcReader): void {
    if (code === callCode.closeCursors) {
      reader.byte()
      for (let left = reader.integer(); left > 0; left -= 1) this.#cursors?.close(reader.integer())
    } else if (code === callCode.lob) this.#lobs.free(reader)
    else throw new NotModelledError(`the piggyback ${code}`)
  }

  async #call(code: number, reader: TtcReader): Promise<Buffer> {
    if (code === callCode.authOne) return this.#authOne()
    if (code === callCode.authTwo) return this.#authTwo(reader)
    const [session, cursors] = [this.#session, this.#cursors]
    if (session === undefined || cursors === undefined) throw new OracleErrorStandIn(1012, 'not logged on')
    switch (code) {
      case callCode.execute: return cursors.execute(reader)
      case callCode.reexecute:
      case callCode.reexecuteAndFetch: return cursors.reexecute(reader)
      case callCode.fetch: return cursors.fetch(reader)
      case callCode.lob: return this.#lobs.call(reader)
      case callCode.commit: await session.commit(); break
      case callCode.rollback: await session.rollback(); break
      case callCode.ping: await session.ping(); break
      case callCode.logoff: session.end(); break
      default: throw new NotModelledError(`the call ${code}`)
    }
    return statusAnswer(session.inTransaction)
  }

  #authOne(): Buffer {
    this.#logon = new LogonStandIn(this.#server.options.password ?? 'stand-in-password')
    return pairsAnswer(this.#logon.challenge)
  }

  #authTwo(reader: TtcReader): Buffer {
    reader.byte()
    reader.skipIntegers(2)
    reader.byte()
    const count = reader.integer()
    reader.skip(2)
    const user = reader.text()?.toString('utf8') ?? ''
    const pairs = readPairs(reader, count)
    const password = this.#server.options.password ?? 'stand-in-password'
    const proof = this.#logon?.accept(pairs.get('AUTH_SESSKEY') ?? '', pairs.get('AUTH_PASSWORD') ?? '', password)
    this.#server.mustKnow(user, proof === undefined ? '' : password)
    const session = this.#server.open()
    this.#session = session
    this.#cursors = new CursorsStandIn(session, this.#lobs)
    session.onEnd = () => { this.#socket.end() }
    if (this.#faults.dropAfterLogon === true) setImmediate(() => { this.#socket.destroy() })
    return pairsAnswer([
      ['AUTH_SVR_RESPONSE', proof ?? '', 0], ['AUTH_VERSION_NO', String(this.#versionNumber(session.version)), 0], ['AUTH_SC_SERVICE_NAME', this.#server.options.service ?? 'standin', 0],
      ['AUTH_MAX_OPEN_CURSORS', '300', 0], ['AUTH_MAX_IDEN_LENGTH', '128', 0],
    ])
  }

  /** Nibbles and bytes, as before 18c. */
  #versionNumber(version: string): number {
    const [major = 0, release = 0, update = 0, port = 0, patch = 0] = version.split('.').map(Number)
    return major * 2 ** 24 + (release & 0xf) * 2 ** 20 + (update & 0xff) * 2 ** 12 + (port & 0xf) * 2 ** 8 + (patch & 0xff)
  }
}
