import type { OverlapPolicy } from '../../src/executor/task-definition.ts'
import { violations } from './invariants.ts'
import { drawScenario, type Scenario } from './scenario.ts'
import { simulate, type Outcome } from './simulate.ts'

/** `offset`: how far the seeds of this test are from SCHED_SIMULATION_SEED, so that no two tests play the same ones. */
export interface Seeds { readonly first: number; readonly count: number; readonly offset: number }

const defaultSeed = 20_261_130

/** `SCHED_SIMULATION_SEED` sets the first seed, `SCHED_SIMULATION_RUNS` how many follow in each test. */
export function seedsFor(test: number, count: number): Seeds {
  const first = Number(process.env['SCHED_SIMULATION_SEED'] ?? defaultSeed)
  const runs = Number(process.env['SCHED_SIMULATION_RUNS'] ?? count)
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(runs)) throw new RangeError('SCHED_SIMULATION_SEED and SCHED_SIMULATION_RUNS are whole numbers')
  const offset = test * 1_000_000
  return { first: first + offset, count: runs, offset }
}

/** Plays one interleaving per seed, and prints how many there were. @throws Error with the seed and what happened, at the first that breaks an invariant */
export async function runSeeds(title: string, { first, count, offset }: Seeds, policies: readonly OverlapPolicy[], draw: (seed: number, policies: readonly OverlapPolicy[]) => Scenario = drawScenario): Promise<{ runs: number; attempts: number }> {
  const begin = performance.now()
  let attempts = 0
  for (let seed = first; seed < first + count; seed += 1) {
    const outcome = await simulate(draw(seed, policies))
    const broken = violations(outcome)
    if (broken.length > 0) throw new Error(report(outcome, broken, seed - offset))
    attempts += outcome.cluster.runs().length
    outcome.cluster.database.close()
  }
  process.stdout.write(`simulated: ${title}: ${count} interleavings from seed ${first}, ${attempts} attempts, ${Math.round(performance.now() - begin)} ms\n`)
  return { runs: count, attempts }
}

function report({ scenario, cluster, troublesMet }: Outcome, broken: readonly string[], firstSeed: number): string {
  const facts = { ...scenario, troubles: undefined, skewsMs: undefined, driftsPpm: undefined }
  const begin = Date.UTC(2030, 0, 1)
  const ledger = cluster.ledger().map(({ fireTime, state, origin, attempt, crashCount, errorCode, missedFrom, executionId }) =>
    `  +${fireTime.getTime() - begin} ${executionId.slice(0, 8)} ${state} ${origin} attempt ${attempt} crashes ${crashCount} ${errorCode ?? ''} ${missedFrom === null ? '' : `from +${missedFrom.getTime() - begin}`}`)
  const runs = cluster.runs().map(({ node, fireTime, owner, attempt, reason, startedAt, endedAt, outcome }) =>
    `  +${Math.round(startedAt - begin)}..${endedAt === undefined ? '' : `+${Math.round(endedAt - begin)}`} ${node} ${owner.slice(0, 8)} slot +${fireTime.getTime() - begin} attempt ${attempt} ${reason} ${outcome}`)
  return [
    `seed ${scenario.seed}; to play it again: SCHED_SIMULATION_SEED=${firstSeed} SCHED_SIMULATION_RUNS=1`,
    ...broken.map((text) => `  ✗ ${text}`), `scenario ${JSON.stringify(facts)}`, 'troubles:', ...troublesMet.map((text) => `  ${text}`), 'ledger:', ...ledger, 'runs:', ...runs,
  ].join('\n')
}
