import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Instance } from '../executor/cluster.ts'
import type { InstanceConfig } from '../executor/instance-config.ts'
import { realTime } from '../executor/real-time.ts'
import type { Kill } from './tally.ts'

/** The numbers of the endurance runs: lease and heartbeat of a service that wants short takeovers. */
export const crowdLease = { leaseMs: 2_000, heartbeatMs: 500 } as const

const lookEveryMs = 5
const patienceMs = 30_000

/** Many instances of one service, of which the one that runs is killed again and again, and replaced at once. */
export class Crowd {
  readonly #cluster: Cluster
  readonly #config: Pick<InstanceConfig, 'options' | 'tasks'>

  constructor(cluster: Cluster, config: Pick<InstanceConfig, 'options' | 'tasks'>) {
    this.#cluster = cluster
    this.#config = config
  }

  /** Resolves when every one of them has started. */
  async start(size: number): Promise<void> {
    await Promise.all(Array.from({ length: size }, () => this.#cluster.instance(this.#config).started()))
  }

  /** For so long, every so often: waits for the next start of the task, and kills its process in the middle of it. */
  async keepKilling(task: string, everyMs: number, forMs: number): Promise<readonly Kill[]> {
    const began = realTime()
    const kills: Kill[] = []
    for (let next = began + everyMs; next < began + forMs; next += everyMs) {
      await sleep(Math.max(0, next - realTime()))
      kills.push(await this.#killNext(task))
      this.#cluster.instance(this.#config)
    }
    await sleep(Math.max(0, began + forMs - realTime()))
    return kills
  }

  async stop(): Promise<void> {
    for (const { child } of this.#cluster.instances) child.send('stop')
    await Promise.all(this.#cluster.instances.map(({ child }) => child.exited))
  }

  async #killNext(task: string): Promise<Kill> {
    const known = new Map(this.#cluster.instances.map((instance) => [instance, instance.starts(task).length]))
    const end = realTime() + patienceMs
    for (;;) {
      const found = this.#cluster.instances.find((instance) => instance.starts(task).length > (known.get(instance) ?? 0))
      if (found !== undefined) return kill(found, task)
      if (realTime() > end) throw new Error(`${task} was not started for ${patienceMs} ms`)
      await sleep(lookEveryMs)
    }
  }
}

async function kill(instance: Instance, task: string): Promise<Kill> {
  const at = realTime()
  await instance.child.kill()
  const hit = instance.starts(task).at(-1)
  return { at, pid: instance.child.pid, fireTime: hit?.fireTime as number, owner: hit?.owner as string }
}
