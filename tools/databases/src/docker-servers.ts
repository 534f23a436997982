import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ServerRow } from './server-table.ts'

const answerWithinMs = 1_500

/** Why there is no Docker here, or undefined when an engine answers. Never waits for one that hangs. */
export async function dockerObstacle(): Promise<string | undefined> {
  const host = process.env.DOCKER_HOST
  if (host !== undefined && host !== '') {
    if (host.startsWith('unix://')) return await ping({ socketPath: host.slice('unix://'.length) })
    if (!host.startsWith('tcp://')) return undefined   // ssh and the like: testcontainers will find out
    const { hostname, port } = new URL(host)
    return port === '2376' ? undefined : await ping({ host: hostname, port: Number(port) || 2375 })   // 2376 speaks TLS
  }
  const sockets = ['/var/run/docker.sock', join(homedir(), '.docker', 'run', 'docker.sock'), join(homedir(), '.docker', 'desktop', 'docker.sock')]
  const socketPath = sockets.find((path) => existsSync(path))
  return socketPath === undefined ? 'Docker: no engine' : await ping({ socketPath })
}

function ping(address: { socketPath: string } | { host: string, port: number }): Promise<string | undefined> {
  return new Promise((resolve) => {
    const call = request({ ...address, path: '/_ping', timeout: answerWithinMs }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? undefined : `Docker: the engine answers ${response.statusCode}`)
    })
    call.on('timeout', () => { call.destroy(new Error(`no answer within ${answerWithinMs} ms`)) })
    call.on('error', (error) => { resolve(`Docker: ${error.message}`) })
    call.end()
  })
}

/** Starts the server's official image and returns its URL. The container lives as long as this process (testcontainers' reaper ends it). */
export async function startContainer(server: ServerRow): Promise<string> {
  if (server.image === undefined) throw new Error(`${server.name} has no official image`)
  const { GenericContainer, Wait } = await import('testcontainers')   // slow to load, and not needed without Docker
  const password = 'sched-test-only'
  const container = await new GenericContainer(server.image)
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(['postgres', '-c', 'max_connections=300'])
    .withExposedPorts(5432)
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))   // the first time it is only initialising
    .start()
  return `postgresql://postgres:${password}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
}
