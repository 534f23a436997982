import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { OracleServerStandIn } from './server-stand-in.ts'
import { WireConnectionStandIn, type WireFaults } from './wire-connection-stand-in.ts'

export interface WireServerStandIn {
  readonly port: number
  readonly url: string
  /** Connections that clients hold open. */
  readonly connections: number
  close(): Promise<void>
}

/**
 * The stand-in at the wire: listens like an Oracle listener and speaks as much of Oracle Net and TTC as the real `oracledb` in thin mode
 * needs: connect, accept or refuse, logon, execute with binds in and out, fetch, errors, break and reset, CLOBs, the end.
 */
export async function wireServerStandIn(server: OracleServerStandIn, faults: WireFaults = {}): Promise<WireServerStandIn> {
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => { sockets.delete(socket) })
    new WireConnectionStandIn(server, socket, faults)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const { user = 'app', password = 'stand-in-password', service = 'standin' } = server.options
  return {
    port,
    url: `oracle://${user}:${password}@127.0.0.1:${port}/${service}`,
    get connections() { return sockets.size },
    async close() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
      server.close()
    },
  }
}
