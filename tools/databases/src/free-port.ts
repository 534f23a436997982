import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'

// Above the fixed servers, below the range the system takes source ports from: a port that its owner gives up for a while
// (a server that is restarted) is not handed to an outgoing connection meanwhile.
const lowest = 29_000
const highest = 32_767

/** A port on loopback that is free now. Another process may be quicker: who starts a server on it tries again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(lowest, highest + 1)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port between ${lowest} and ${highest}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', (error: NodeJS.ErrnoException) => { if (error.code === 'EADDRINUSE') resolve(false); else reject(error) })
    server.listen({ port, host: '127.0.0.1' }, () => { server.close(() => { resolve(true) }) })
  })
}
