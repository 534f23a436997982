import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createLocks } from '@sched/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { oracle } from '../src/index.ts'
import { errorOf, Ground } from './support/ground.ts'

const password = 'not-to-be-shown'

async function listenerThat(answers: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    answers(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => { server.close() })
  return (server.address() as AddressInfo).port
}

/** What an application sees that creates its locks there, and how long it took. */
async function attempt(url: string): Promise<{ error: Error; tookMs: number }> {
  const dialect = oracle({ url })
  const locks = createLocks({ dialect })
  const startedAt = performance.now()
  try {
    return { error: await errorOf(locks.acquire('anything', { waitMs: 0 })), tookMs: performance.now() - startedAt }
  } finally {
    await locks.close()
    await dialect.close()
  }
}

function mustBe({ error, tookMs }: { error: Error; tookMs: number }, code: string): void {
  expect(error).toMatchObject({ code })
  expect(tookMs).toBeLessThan(15_000)
  for (let shown: unknown = error; shown instanceof Error; shown = shown.cause) expect(shown.message).not.toContain(password)
}

describe('stand-in at the wire: what cannot be reached says so', () => {
  it('a port that is closed', async () => {
    const port = await listenerThat(() => {})
    mustBe(await attempt(`oracle://app:${password}@127.0.0.1:${port === 1 ? 2 : 1}/orders`), 'SCHED_DATABASE_UNREACHABLE')
  })

  it('a port where something else answers', async () => {
    const port = await listenerThat((socket) => { socket.once('data', () => { socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') }) })
    mustBe(await attempt(`oracle://app:${password}@127.0.0.1:${port}/orders`), 'SCHED_DATABASE_UNREACHABLE')
  })

  it('a port where nobody answers', async () => {
    const port = await listenerThat(() => {})
    mustBe(await attempt(`oracle://app:${password}@127.0.0.1:${port}/orders`), 'SCHED_DATABASE_UNREACHABLE')
  }, 30_000)

  it('a service that the listener does not know', async () => {
    const { wire } = await Ground.start({ password })
    mustBe(await attempt(wire.url.replace(/standin$/, 'nosuch')), 'SCHED_AUTHENTICATION')
  })

  it('a listener that drops the connection after the logon', async () => {
    const { wire } = await Ground.start({ password }, { dropAfterLogon: true })
    mustBe(await attempt(wire.url), 'SCHED_DATABASE_UNREACHABLE')
  })

  it('a wrong password', async () => {
    const { wire } = await Ground.start()
    mustBe(await attempt(wire.url.replace('stand-in-password', password)), 'SCHED_AUTHENTICATION')
  })

  it('a server without a session to spare', async () => {
    const { wire } = await Ground.start({ sessions: 0 })
    mustBe(await attempt(wire.url), 'SCHED_RESOURCE_EXHAUSTED')
  })
})
