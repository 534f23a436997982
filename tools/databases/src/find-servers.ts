import { dockerObstacle, startContainer } from './docker-servers.ts'
import { localObstacle, provision } from './local-provisioning.ts'
import { serverTable, type ServerRow } from './server-table.ts'
import { serverVersion } from './server-version.ts'

export type Source = 'environment' | 'docker' | 'local'

export type FoundServer =
  | { readonly name: string, readonly available: true, readonly variable: string, readonly url: string, readonly version: string, readonly source: Source }
  | { readonly name: string, readonly available: false, readonly reason: string }

const everySource: readonly Source[] = ['environment', 'docker', 'local']

/** The sources that SCHED_TEST_SOURCES allows (comma separated; all unless set). */
export function allowedSources(value: string | undefined = process.env.SCHED_TEST_SOURCES): ReadonlySet<Source> {
  if (value === undefined || value === '') return new Set(everySource)
  const words = value.split(',').map((word) => word.trim())
  const unknown = words.find((word) => !everySource.includes(word as Source))
  if (unknown !== undefined) throw new Error(`SCHED_TEST_SOURCES names "${unknown}"; there are: ${everySource.join(', ')}`)
  return new Set(words as Source[])
}

/** Every server of the table: its URL from the environment, else from Docker, else provisioned on this machine. Starts what it needs. */
export async function findServers(): Promise<FoundServer[]> {
  const sources = allowedSources()
  const urls = new Map<string, { url: string, source: Source }>()
  const reasons = new Map<string, string[]>(serverTable.map(({ name }) => [name, []]))
  const because = (name: string, reason: string): void => { reasons.get(name)?.push(reason) }
  const missing = (): ServerRow[] => serverTable.filter(({ name }) => !urls.has(name))

  if (sources.has('environment')) {
    for (const { name, variable } of serverTable) {
      const url = process.env[variable]
      if (url !== undefined && url !== '') urls.set(name, { url, source: 'environment' })
      else because(name, `${variable} is not set`)
    }
  }
  if (sources.has('docker') && missing().length > 0) await fromDocker(missing(), urls, because)
  if (sources.has('local') && missing().length > 0) {
    const obstacle = localObstacle()
    if (obstacle === undefined) {
      const names = missing().map(({ name }) => name)
      const provisioned = await provision(names)
      for (const { name, variable } of missing()) {
        const url = provisioned.urls.get(variable)
        if (url !== undefined) urls.set(name, { url, source: 'local' })
        else because(name, provisioned.failures.get(name) ?? 'up.sh did not report it')
      }
    } else {
      for (const { name } of missing()) because(name, obstacle)
    }
  }
  return await Promise.all(serverTable.map(async ({ name, variable }): Promise<FoundServer> => {
    const found = urls.get(name)
    if (found === undefined) return { name, available: false, reason: reasons.get(name)?.join('; ') || `SCHED_TEST_SOURCES is ${[...sources].join(',')}` }
    try {
      return { name, available: true, variable, ...found, version: await serverVersion(found.url) }
    } catch (error) {
      return { name, available: false, reason: `found through ${found.source}, but it does not answer: ${(error as Error).message}` }
    }
  }))
}

async function fromDocker(rows: readonly ServerRow[], urls: Map<string, { url: string, source: Source }>, because: (name: string, reason: string) => void): Promise<void> {
  const obstacle = await dockerObstacle()
  await Promise.all(rows.map(async (server) => {
    if (obstacle !== undefined) { because(server.name, obstacle); return }
    if (server.image === undefined) { because(server.name, 'Docker: no official image'); return }
    try {
      urls.set(server.name, { url: await startContainer(server), source: 'docker' })
    } catch (error) {
      because(server.name, `Docker: ${(error as Error).message}`)
    }
  }))
}

/** Makes the templates of throw-away PostgreSQL servers; why not, or undefined. */
export async function preparePrivatePostgres(): Promise<string | undefined> {
  if (!allowedSources().has('local')) return 'SCHED_TEST_SOURCES leaves out local'
  const obstacle = localObstacle()
  if (obstacle !== undefined) return obstacle
  const { failures } = await provision(['postgres', 'postgres-oldest'], true)
  const [failed] = failures
  return failed === undefined ? undefined : `${failed[0]}: ${failed[1]}`
}
