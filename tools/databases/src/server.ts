import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { localPid, provision, startedHere, takeDown } from './local-provisioning.ts'
import { freezeTree, killTree, thawTree } from './process-tree.ts'
import { missingVariable, serverRow, type ServerName } from './server-table.ts'

export interface Unavailable {
  readonly available: false
  readonly reason: string
}

/**
 * A server that all test files share. What stops it stops it for every test that runs meanwhile: tests that need a server
 * to kill take `privatePostgres`. The four below throw unless the server was started by tools/databases/up.sh here.
 */
export interface AvailableServer {
  readonly available: true
  readonly name: ServerName
  readonly url: string
  /** SIGKILL to the server and all its processes. `restart` brings it back on its data. */
  kill(): Promise<void>
  /** SIGSTOP to the server and all its processes. */
  freeze(): Promise<void>
  thaw(): void
  /** Clean stop if it runs, then a start. */
  restart(): Promise<void>
}

export type Server = AvailableServer | Unavailable

/** A server by name, from the environment (which `npm test` prepares). */
export function server(name: ServerName): Server {
  const url = process.env[serverRow(name).variable]
  if (url === undefined || url === '') {
    return { available: false, reason: process.env[missingVariable(name)] ?? `${serverRow(name).variable} is not set` }
  }
  const requireOurs = (): void => {
    if (!startedHere(name, url)) throw new Error(`${name} was not started by tools/databases/up.sh on this machine, so it cannot be stopped from here`)
  }
  const pid = (): number => {
    requireOurs()
    const found = localPid(name)
    if (found === undefined) throw new Error(`${name} does not run`)
    return found
  }
  return {
    available: true, name, url,
    async kill() {
      killTree(pid())
      await ended(name, url)
    },
    async freeze() { await freezeTree(pid()) },
    thaw() { thawTree(pid()) },
    async restart() {
      requireOurs()
      takeDown([name])
      const { failures } = await provision([name])
      const failure = failures.get(name)
      if (failure !== undefined) throw new Error(`${name} did not come back: ${failure}`)
    },
  }
}

/** Gone, and its port too: the last of its threads may hold that a moment longer than the process is seen. */
async function ended(name: ServerName, url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  for (let tries = 0; tries < 1_000; tries++) {
    if (localPid(name) === undefined && await refuses(hostname, Number(port))) return
    await sleep(10)
  }
  throw new Error(`${name} did not end within 10 s`)
}

function refuses(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => { socket.destroy(); resolve(false) })
    socket.on('error', (error: NodeJS.ErrnoException) => { resolve(error.code === 'ECONNREFUSED') })
  })
}
