import { connect, type Socket } from 'node:net'
import { ProxyPipe } from './proxy-pipe.ts'

/** A cut that waits for its moment. One connection takes it, and it is used up. */
export interface ArmedCut {
  readonly kind: 'before-forward' | 'after-reply'
  /** Sees what the client has sent since the server last answered, in one piece. */
  readonly matches: (bytes: Buffer, connection: object) => boolean
  readonly done: () => void
}

/** How long the server must be quiet for its answer to count as complete. */
const quietMs = 20

/** One client of the proxy and its connection to the server. */
export class ProxyConnection {
  readonly #client: Socket
  readonly #server: Socket
  readonly #toServer: ProxyPipe
  readonly #toClient: ProxyPipe
  readonly #takeCut: (bytes: Buffer, connection: object) => ArmedCut | undefined
  #request: Buffer = Buffer.alloc(0)
  #cutAfterReply: ArmedCut | undefined
  #quiet: NodeJS.Timeout | undefined

  constructor(client: Socket, target: { host: string, port: number }, takeCut: (bytes: Buffer, connection: object) => ArmedCut | undefined, closed: () => void) {
    this.#client = client
    this.#server = connect({ ...target, noDelay: true, allowHalfOpen: true })
    this.#toServer = new ProxyPipe(this.#server)
    this.#toClient = new ProxyPipe(client)
    this.#takeCut = takeCut

    client.on('data', (bytes: Buffer) => { this.#fromClient(bytes) })
    this.#server.on('data', (bytes: Buffer) => { this.#fromServer(bytes) })
    for (const [from, pipe] of [[client, this.#toServer], [this.#server, this.#toClient]] as const) {
      from.on('end', () => { pipe.end() })
      // A reset, or a server that refuses: the other side sees the connection end, in its turn.
      from.on('error', () => { pipe.end() })
      from.on('close', () => { if (this.#client.destroyed && this.#server.destroyed) closed() })
    }
  }

  set silent(value: boolean) {
    this.#toServer.silent = value
    this.#toClient.silent = value
  }

  set delayMs(value: number) {
    this.#toServer.delayMs = value
    this.#toClient.delayMs = value
  }

  /** Resets both sides; what was under way in either direction is lost. */
  cut(): void {
    clearTimeout(this.#quiet)
    this.#toServer.discard()
    this.#toClient.discard()
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }

  #fromClient(bytes: Buffer): void {
    this.#request = Buffer.concat([this.#request, bytes])
    const armed = this.#cutAfterReply === undefined ? this.#takeCut(this.#request, this) : undefined
    if (armed?.kind === 'before-forward') {
      this.cut()
      armed.done()
      return
    }
    // The rest of a request that matched early is still forwarded, or the server would never answer.
    if (armed !== undefined) this.#cutAfterReply = armed
    this.#toServer.write(bytes)
  }

  #fromServer(bytes: Buffer): void {
    const armed = this.#cutAfterReply
    if (armed === undefined) {
      this.#request = Buffer.alloc(0)
      this.#toClient.write(bytes)
      return
    }
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => { this.cut(); armed.done() }, quietMs)
  }
}
