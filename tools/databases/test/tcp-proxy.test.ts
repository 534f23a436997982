import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { tcpProxy, type TcpProxy } from '../src/index.ts'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } })

interface Peer { socket: Socket, received: () => string, closed: () => boolean, error: () => string | undefined }

function watch(socket: Socket): Peer {
  let received = ''
  let error: string | undefined
  socket.setEncoding('utf8').on('data', (text: string) => { received += text })
  socket.on('error', (failure: NodeJS.ErrnoException) => { error = failure.code })
  return { socket, received: () => received, closed: () => socket.closed, error: () => error }
}

describe('tcpProxy', () => {
  let server: Server
  let port: number
  let accepted: Peer[]
  let proxy: TcpProxy

  beforeEach(async () => {
    accepted = []
    server = createServer((socket) => {
      accepted.push(watch(socket))
      socket.on('data', (text) => { socket.write(`re:${String(text)};`) })
    })
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
    port = (server.address() as { port: number }).port
    proxy = await tcpProxy('127.0.0.1', port)
  })
  afterEach(async () => {
    await proxy.close()
    for (const { socket } of accepted) socket.destroy()
    server.close()
  })

  const open = async (): Promise<Peer> => {
    const peer = watch(connect(proxy.port, '127.0.0.1'))
    await new Promise((resolve) => { peer.socket.on('connect', resolve).on('error', resolve) })
    return peer
  }
  const answered = async (peer: Peer, text: string): Promise<void> => {
    peer.socket.write(text)
    await expect.poll(peer.received).toContain(`re:${text};`)
  }

  it('passes bytes and ends through', async () => {
    const client = await open()
    await answered(client, 'a')
    expect(proxy.connections).toBe(1)
    client.socket.end()
    await expect.poll(client.closed).toBe(true)
    await expect.poll(() => accepted[0]?.closed()).toBe(true)
    await expect.poll(() => proxy.connections).toBe(0)
    expect(client.error()).toBeUndefined()
    expect(proxy.url('postgresql://u:p@db.example:1/x?y=1')).toBe(`postgresql://u:p@127.0.0.1:${proxy.port}/x?y=1`)
  })

  it('cuts with a reset on both sides', async () => {
    const client = await open()
    await answered(client, 'a')
    expect(proxy.cut()).toBe(1)
    await expect.poll(client.error).toBe('ECONNRESET')
    await expect.poll(() => accepted[0]?.error()).toBe('ECONNRESET')
    await answered(await open(), 'b')
  })

  it('is a black hole for bytes and for ends, and heals', async () => {
    const client = await open()
    const leaver = await open()
    await answered(client, 'a')
    await answered(leaver, 'b')
    proxy.blackhole()
    client.socket.write('c')
    leaver.socket.destroy()
    const late = await open()
    late.socket.write('d')
    await sleep(100)
    expect(accepted.map((peer) => peer.received()).join('')).not.toMatch(/[cd]/)
    expect(accepted.every((peer) => !peer.closed())).toBe(true)
    await proxy.heal()
    await expect.poll(client.received).toContain('re:c;')
    await expect.poll(late.received).toContain('re:d;')
    await expect.poll(() => accepted.filter((peer) => peer.closed()).length).toBe(1)
  })

  it('delays in order', async () => {
    const client = await open()
    await answered(client, 'a')
    proxy.delay(80)
    const began = performance.now()
    client.socket.write('b')
    await sleep(10)
    await proxy.heal()
    client.socket.write('c')
    await expect.poll(client.received, { interval: 5 }).toMatch(/b.*c/)
    expect(performance.now() - began).toBeGreaterThanOrEqual(79)
  })

  it('refuses new connections, keeps the old, and heals on the same port', async () => {
    const client = await open()
    await answered(client, 'a')
    await proxy.refuse()
    expect((await open()).error()).toBe('ECONNREFUSED')
    await answered(client, 'b')
    await proxy.heal()
    await answered(await open(), 'c')
  })

  it('cuts after the server has done it and before the client hears of it', async () => {
    const client = await open()
    await answered(client, 'begin')
    const other = await open()
    const cut = proxy.cutAfterClientBytes((bytes) => bytes.includes('commit'))
    client.socket.write('com')
    await expect.poll(client.received).toContain('re:com;')
    client.socket.write('commit')
    await cut
    expect(accepted[0]?.received()).toContain('commit')
    await expect.poll(client.error).toBe('ECONNRESET')
    expect(client.received()).not.toContain('re:commit;')
    await answered(other, 'commit')   // used up, and nobody else's business
  })

  it('cuts before the server hears of it', async () => {
    const client = await open()
    await answered(client, 'begin')
    const cut = proxy.cutBeforeForward((bytes) => bytes.includes('commit'))
    client.socket.write('commit')
    await cut
    await expect.poll(client.error).toBe('ECONNRESET')
    await sleep(50)
    expect(accepted[0]?.received()).toBe('begin')
  })

  it('rejects cuts that were disarmed, and ends clients when there is no server', async () => {
    const cut = proxy.cutBeforeForward(() => true)
    proxy.disarm()
    await expect(cut).rejects.toThrow('disarmed')
    const nowhere = await tcpProxy('127.0.0.1', 1)
    const client = watch(connect(nowhere.port, '127.0.0.1'))
    await expect.poll(client.closed).toBe(true)
  })
})
