import { createServer, type Server, type Socket } from 'node:net'
import { endWithTest } from './end-with-test.ts'
import { freePort } from './free-port.ts'
import { ProxyConnection, type ArmedCut } from './proxy-connection.ts'

/** A TCP proxy on loopback that fails in the ways networks fail. Closed at the end of the test. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** Connections open now. */
  readonly connections: number
  /** The same URL, through the proxy. */
  url(original: string): string
  /** Resets every connection, on both sides; returns how many. New ones are accepted. */
  cut(): number
  /**
   * Nothing gets through any more, in either direction, and nobody is told: neither bytes nor the end of a connection. New
   * connections are accepted and stay mute. After `heal` what was held back is delivered, as TCP would by retransmission.
   */
  blackhole(): void
  /** Holds back what is sent from now on by this much, in each direction. */
  delay(ms: number): void
  /** New connections are refused; those that exist go on. */
  refuse(): Promise<void>
  /** Ends blackhole, delay and refuse. */
  heal(): Promise<void>
  /**
   * Once: when what a client has sent since the server last answered satisfies the predicate, it is forwarded, the server's answer
   * awaited and swallowed, and both sides are reset: done, and the client cannot know. Resolves after that. `connection`
   * is the same for what came by one connection.
   */
  cutAfterClientBytes(predicate: (bytes: Buffer, connection: object) => boolean): Promise<void>
  /** Once, and the chunk that completes the match is not forwarded: not done, and the client cannot know. */
  cutBeforeForward(predicate: (bytes: Buffer, connection: object) => boolean): Promise<void>
  /** Forgets cuts that have not happened; their promises reject. */
  disarm(): void
  close(): Promise<void>
}

export async function tcpProxy(targetHost: string, targetPort: number): Promise<TcpProxy> {
  const connections = new Set<ProxyConnection>()
  const armed = new Map<ArmedCut, (reason: Error) => void>()
  let silent = false
  let delayMs = 0
  let listener: Server | undefined

  const takeCut = (bytes: Buffer, connection: object): ArmedCut | undefined => {
    const cut = [...armed.keys()].find(({ matches }) => matches(bytes, connection))
    if (cut !== undefined) armed.delete(cut)
    return cut
  }

  const accept = (client: Socket): void => {
    const connection = new ProxyConnection(client, { host: targetHost, port: targetPort }, takeCut, () => { connections.delete(connection) })
    connection.silent = silent
    connection.delayMs = delayMs
    connections.add(connection)
  }

  const listen = (port: number): Promise<Server> => new Promise((resolve, reject) => {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, accept)
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1' }, () => { server.off('error', reject); resolve(server) })
  })

  const arm = (kind: ArmedCut['kind'], matches: ArmedCut['matches']): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    armed.set({ kind, matches, done: resolve }, reject)
    promise.catch(() => {})   // a test that ends without waiting for it is not an unhandled rejection
    return promise
  }

  const disarm = (): void => {
    for (const reject of armed.values()) reject(new Error('the proxy was disarmed before anything matched'))
    armed.clear()
  }

  const cut = (): number => {
    const count = connections.size
    for (const connection of [...connections]) connection.cut()
    return count
  }

  // Not close()'s callback: that would wait for the connections, which are to go on.
  const refuse = async (): Promise<void> => {
    listener?.close()
    listener = undefined
    await new Promise((resolve) => { setImmediate(resolve) })
  }

  const [first, port] = await listenSomewhere(listen)
  listener = first

  const close = async (): Promise<void> => {
    disarm()
    await refuse()
    cut()
  }
  endWithTest(close)

  return {
    port, cut, disarm, refuse, close,
    get connections() { return connections.size },
    url(original) {
      const through = new URL(original)
      through.hostname = '127.0.0.1'
      through.port = String(port)
      return through.href
    },
    blackhole() {
      silent = true
      for (const connection of connections) connection.silent = true
    },
    delay(ms) {
      delayMs = ms
      for (const connection of connections) connection.delayMs = ms
    },
    async heal() {
      silent = false
      delayMs = 0
      for (const connection of connections) {
        connection.delayMs = 0
        connection.silent = false
      }
      listener ??= await listen(port)
    },
    cutAfterClientBytes: (predicate) => arm('after-reply', predicate),
    cutBeforeForward: (predicate) => arm('before-forward', predicate),
    [Symbol.asyncDispose]: close,
  }
}

/** A proxy straight in front of the server of a URL. */
export async function proxyFor(serverUrl: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(serverUrl)
  if (port === '') throw new Error('the URL of a proxied server must name its port')
  return await tcpProxy(hostname, Number(port))
}

async function listenSomewhere(listen: (port: number) => Promise<Server>): Promise<[Server, number]> {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    try {
      return [await listen(port), port]
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === 5) throw error
    }
  }
}
