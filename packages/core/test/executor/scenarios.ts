import { setTimeout as sleep } from 'node:timers/promises'
import { describeServer, server } from '@sched-dev/databases'
import { beforeAll, describe, it } from 'vitest'
import type { Product } from '../ledger/connector.ts'
import { emptySqlite, emptyStore, serverOf, type EmptyStore } from '../ledger/store-ground.ts'
import { Cluster } from './cluster.ts'

export interface Scenario {
  readonly title: string
  readonly on: readonly Product[]
  run(cluster: Cluster): Promise<void>
}

const scenarioMs = 200_000
const hookMs = 240_000

/**
 * Scenarios on real processes spend their time asleep (leases must run out), so those of one file run at the same time, each on a
 * database of its own; every test then reports its own. (Not `it.concurrent`: what a scenario starts would belong to whichever
 * test happens to be current.)
 */
export function runTogether(scenarios: readonly Scenario[]): void {
  const runs = scenarios.flatMap((scenario) => scenario.on.map((product) => ({ scenario, product, outcome: undefined as PromiseSettledResult<void> | undefined })))

  beforeAll(async () => {
    await Promise.all(runs.map(async (run) => {
      const open = emptyOf(run.product)
      if (open === undefined) return
      const [outcome] = await Promise.allSettled([runOne(run.scenario, open)])
      run.outcome = outcome
    }))
  }, hookMs)

  const define = (product: Product): void => {
    for (const run of runs.filter((candidate) => candidate.product === product)) {
      it(run.scenario.title, () => {
        if (run.outcome === undefined) throw new Error('the scenario did not come to an end')
        if (run.outcome.status === 'rejected') throw run.outcome.reason
      })
    }
  }
  for (const product of new Set(runs.map((run) => run.product))) {
    if (product === 'SQLite') describe('on SQLite', () => { define(product) })
    else describeServer(serverOf[product], () => { define(product) })
  }
}

/** How to open an empty database of this kind; undefined where its server is missing. */
function emptyOf(product: Product): (() => Promise<EmptyStore>) | undefined {
  if (product === 'SQLite') return emptySqlite
  const found = server(serverOf[product])
  return found.available ? () => emptyStore(product, found.url) : undefined
}

async function runOne(scenario: Scenario, open: () => Promise<EmptyStore>): Promise<void> {
  const cluster = new Cluster(await open())
  const limit = new AbortController()
  try {
    await Promise.race([scenario.run(cluster), sleep(scenarioMs, undefined, { signal: limit.signal }).then(() => { throw new Error(`the scenario was not over after ${scenarioMs} ms`) })])
  } finally {
    limit.abort()
    await cluster.end()
  }
}

/** One database inside the process, one on a server: enough for what does not depend on the server's own ways. */
export const both: readonly Product[] = ['SQLite', 'PostgreSQL']
export const servers: readonly Product[] = ['PostgreSQL', 'MySQL', 'MariaDB']
export const every: readonly Product[] = ['SQLite', ...servers]

/** Lease and heartbeat of the tests that wait for one to run out: short, but long enough that a loaded machine of two cores does not lose it by itself. */
export const shortLease = { leaseMs: 3_000, heartbeatMs: 500 } as const

/** A period of which no fire time comes while a test runs. */
export const far: number = 7 * 86_400_000

/**
 * A takeover is due within lease + heartbeat of the last renewal. On a loaded machine of two cores processes wake late and statements
 * queue: this much is allowed on top, and the measured time is printed.
 */
export const slackMs = 3_000

/** For the record: takeover times are measured, not only bounded. */
export function measured(what: string, value: number, unit = 'ms'): void {
  process.stdout.write(`measured: ${what}: ${Math.round(value)} ${unit}\n`)
}
