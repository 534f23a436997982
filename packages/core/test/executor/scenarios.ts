import { setTimeout as sleep } from 'node:timers/promises'
import { describeServer, server } from '@sched-dev/databases'
import { beforeAll, describe, it } from 'vitest'
import { emptyPostgres, emptySqlite, type EmptyStore } from '../ledger/store-ground.ts'
import { Cluster } from './cluster.ts'

export type Product = 'SQLite' | 'PostgreSQL'

export interface Scenario {
  readonly title: string
  readonly on: readonly Product[]
  run(cluster: Cluster): Promise<void>
}

const scenarioMs = 110_000
const hookMs = 150_000

/**
 * Scenarios on real processes spend their time asleep (leases must run out), so those of one file run at the same time, each on a
 * database of its own; every test then reports its own. (Not `it.concurrent`: what a scenario starts would belong to whichever
 * test happens to be current.)
 */
export function runTogether(scenarios: readonly Scenario[]): void {
  const runs = scenarios.flatMap((scenario) => scenario.on.map((product) => ({ scenario, product, outcome: undefined as PromiseSettledResult<void> | undefined })))
  const found = server('postgres')

  beforeAll(async () => {
    await Promise.all(runs.map(async (run) => {
      if (run.product === 'PostgreSQL' && !found.available) return
      const [outcome] = await Promise.allSettled([runOne(run.scenario, () => (run.product === 'PostgreSQL' && found.available ? emptyPostgres(found.url) : emptySqlite()))])
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
  if (runs.some(({ product }) => product === 'SQLite')) describe('on SQLite', () => { define('SQLite') })
  if (runs.some(({ product }) => product === 'PostgreSQL')) describeServer('postgres', () => { define('PostgreSQL') })
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

export const both: readonly Product[] = ['SQLite', 'PostgreSQL']

/** Lease and heartbeat of the tests that wait for one to run out. */
export const shortLease = { leaseMs: 1_500, heartbeatMs: 300 } as const

/**
 * A takeover is due within lease + heartbeat of the last renewal. On a loaded machine of two cores processes wake late and statements
 * queue: this much is allowed on top, and the measured time is printed.
 */
export const slackMs = 3_000

/** For the record: takeover times are measured, not only bounded. */
export function measured(what: string, value: number, unit = 'ms'): void {
  process.stdout.write(`measured: ${what}: ${Math.round(value)} ${unit}\n`)
}
