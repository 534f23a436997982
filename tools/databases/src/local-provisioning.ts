import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processStatus } from './process-tree.ts'

const scripts = fileURLToPath(new URL('..', import.meta.url))
export const enterRoot: string = join(scripts, 'shell', 'enter-root.sh')

/** The folder of up.sh; the two must agree on it. */
export const databasesHome = (): string => process.env.SCHED_DATABASES_HOME ?? join(tmpdir(), 'sched-databases')

export function stateFolder(name: string): string {
  const offset = process.env.SCHED_DATABASES_PORT_OFFSET ?? '0'
  return join(databasesHome(), offset === '0' ? 'state' : `state-${offset}`, name)
}

/** Why servers cannot be provisioned on this machine, or undefined when they can. */
export function localObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'local provisioning needs Linux'
  if (process.getuid?.() !== 0) return 'local provisioning needs root'
  const folders = (process.env.PATH ?? '').split(':')
  if (!folders.some((folder) => existsSync(join(folder, 'apt-get')))) return 'local provisioning needs apt-get'
  return undefined
}

export interface Provisioned {
  /** URL by variable. */
  readonly urls: ReadonlyMap<string, string>
  /** Reason by server name. */
  readonly failures: ReadonlyMap<string, string>
}

/** Runs up.sh for these servers; its progress goes to stderr. */
export async function provision(names: readonly string[], prepareOnly = false): Promise<Provisioned> {
  const child = spawn(join(scripts, 'up.sh'), ['--env', ...(prepareOnly ? ['--prepare-only'] : []), ...names], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => { output += chunk })
  const code = await new Promise<number | null>((resolve, reject) => { child.on('error', reject).on('close', resolve) })
  const urls = new Map([...output.matchAll(/^export (\w+)='(.*)'$/gm)].map(([, variable, url]) => [variable ?? '', url ?? '']))
  const failures = new Map([...output.matchAll(/^# FAILED ([\w-]+): (.*)$/gm)].map(([, name, reason]) => [name ?? '', reason ?? '']))
  if (code !== 0 && failures.size === 0) for (const name of names) failures.set(name, `tools/databases/up.sh ended with ${code}`)
  return { urls, failures }
}

/** Stops servers that up.sh started: these, or all. */
export function takeDown(names: readonly string[] = []): void {
  execFileSync(join(scripts, 'down.sh'), names, { stdio: ['ignore', 'inherit', 'inherit'] })
}

/** Whether `url` is the server of that name that up.sh started here, running or not. */
export function startedHere(name: string, url: string): boolean {
  const file = join(stateFolder(name), 'url')
  return existsSync(file) && readFileSync(file, 'utf8').trim() === url
}

/** Its pid while it runs. One that the system has given to another program has another start time. */
export function localPid(name: string): number | undefined {
  const file = join(stateFolder(name), 'pid')
  if (!existsSync(file)) return undefined
  const [pid, startTime] = readFileSync(file, 'utf8').trim().split(' ')
  const status = processStatus(Number(pid))
  return status !== undefined && status.startTime === startTime && status.state !== 'Z' ? Number(pid) : undefined
}
