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

const password = 'sched-test-only'

interface Recipe { readonly environment: Record<string, string>, readonly command: string[], readonly port: number, readonly ready: RegExp, url(host: string, port: number): string }

const recipes: Record<ServerRow['protocol'], (image: string) => Recipe> = {
  postgres: () => ({
    environment: { POSTGRES_PASSWORD: password }, command: ['postgres', '-c', 'max_connections=300'], port: 5432, ready: /ready to accept connections/,
    url: (host, port) => `postgresql://postgres:${password}@${host}:${port}/postgres`,
  }),
  mysql: (image) => {
    const mariadb = image.startsWith('mariadb')
    return {
      environment: { MYSQL_ROOT_PASSWORD: password, MYSQL_DATABASE: 'test' }, port: 3306, ready: /ready for connections.*\s*.*port: 3306/,
      command: ['--max-connections=300', ...(mariadb ? ['--performance-schema=ON', '--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON'] : [])],
      url: (host, port) => `${mariadb ? 'mariadb' : 'mysql'}://root:${password}@${host}:${port}/test`,
    }
  },
}

/** Starts the server's official image and returns its URL. The container lives as long as this process (testcontainers' reaper ends it). */
export async function startContainer(server: ServerRow): Promise<string> {
  if (server.image === undefined) throw new Error(`${server.name} has no official image`)
  const { GenericContainer, Wait } = await import('testcontainers')   // slow to load, and not needed without Docker
  const recipe = recipes[server.protocol](server.image)
  const container = await new GenericContainer(server.image)
    .withEnvironment(recipe.environment)
    .withCommand(recipe.command)
    .withExposedPorts(recipe.port)
    .withWaitStrategy(server.protocol === 'postgres' ? Wait.forLogMessage(recipe.ready, 2) : Wait.forLogMessage(recipe.ready))   // PostgreSQL's first is only initialising; MySQL's has no port then
    .start()
  return recipe.url(container.getHost(), container.getMappedPort(recipe.port))
}
