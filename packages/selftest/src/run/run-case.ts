import type { CaseBody, ConformanceCase } from '../case.ts'
import { describeFailure, type Failure } from '../report/failure.ts'
import type { CaseResult } from '../report/report.ts'
import { residueOf } from './residue.ts'
import type { Scene } from './scene.ts'
import { Stage } from './stage.ts'
import { within } from './timing.ts'

// Giving back must end too, also on a server that answers nothing any more.
const cleanUpLimitMs = 60_000

/** Runs one case, its opposite, or says why neither. Never rejects: whatever happens is the verdict. */
export async function runCase(scene: Scene, testCase: ConformanceCase, options: { allowKill: boolean }): Promise<CaseResult> {
  const startedAt = performance.now()
  const { id, group, level } = testCase
  const plan = planFor(scene, testCase, options)
  const base = { id, group, level, title: plan.body?.title ?? testCase.title, variant: plan.variant }
  const lasted = (): number => Math.round(performance.now() - startedAt)
  if (plan.body === undefined) return { ...base, verdict: plan.verdict, reason: plan.reason, durationMs: lasted() }
  const failure = await failureOf(scene, testCase, plan.body)
  return failure === undefined ? { ...base, verdict: 'ok', durationMs: lasted() } : { ...base, verdict: 'fail', failure, durationMs: lasted() }
}

type Plan =
  | { readonly variant: 'case' | 'opposite'; readonly body: CaseBody }
  | { readonly variant: 'case'; readonly body: undefined; readonly verdict: 'not-applicable' | 'skipped'; readonly reason: string }

function planFor({ facts }: Scene, testCase: ConformanceCase, { allowKill }: { allowKill: boolean }): Plan {
  const { needs, requires, opposite, kills } = testCase
  if (needs !== undefined && !needs.met(facts)) return { variant: 'case', body: undefined, verdict: 'not-applicable', reason: `needs ${needs.name}` }
  if (requires !== undefined && !requires.met(facts)) {
    if (opposite !== undefined) return { variant: 'opposite', body: opposite }
    return { variant: 'case', body: undefined, verdict: 'not-applicable', reason: `needs ${requires.name}` }
  }
  if (kills === true && !facts.kill) return { variant: 'case', body: undefined, verdict: 'not-applicable', reason: 'needs server sessions that can be ended' }
  if (kills === true && !allowKill) return { variant: 'case', body: undefined, verdict: 'skipped', reason: 'needs --allow-kill: it ends a session that it opened itself' }
  return { variant: 'case', body: testCase }
}

async function failureOf(scene: Scene, testCase: ConformanceCase, body: CaseBody): Promise<Failure | undefined> {
  const stage = new Stage(scene, testCase.id)
  const limitMs = testCase.budgetMs + (testCase.leases ?? 0) * scene.leaseMs + 3 * scene.promptMs
  let failure: Failure | undefined
  const work = body.run(stage)
  try {
    await within(work, limitMs, () => new Error(`it did not end within ${limitMs} ms; the last step was: ${stage.lastStep}`))
  } catch (thrown) { failure = describeFailure(thrown, scene.secrets.redact) }
  stage.end(new Error('the case has ended'))
  // What an abandoned case still does must not end the process; its failure is reported already.
  work.catch(() => undefined)
  const residue = await cleanUp(scene, stage, failure !== undefined)
  if (failure === undefined) return residue.length === 0 ? undefined : { message: listed(residue) }
  return residue.length === 0 ? failure : { ...failure, message: `${failure.message} (and then: ${listed(residue)})` }
}

/** Equal problems once, with how often. */
function listed(problems: readonly string[]): string {
  return [...new Set(problems)].map((problem) => {
    const times = problems.filter((other) => other === problem).length
    return times === 1 ? problem : `${problem} (${times} times)`
  }).join('; ')
}

async function cleanUp(scene: Scene, stage: Stage, hasFailed: boolean): Promise<readonly string[]> {
  try {
    return await within(residueOf(scene, stage, hasFailed), cleanUpLimitMs, () => new Error(`giving back did not end within ${cleanUpLimitMs} ms`))
  } catch (thrown) {
    return [describeFailure(thrown, scene.secrets.redact).message, ...stage.belongings.destroyConnections()]
  }
}
