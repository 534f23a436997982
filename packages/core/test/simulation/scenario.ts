import type { OverlapPolicy, TaskOptions } from '../../src/executor/task-definition.ts'
import { delay, fail, freeze, kill, lose, silence, type FaultAction, type FaultMoment, type FaultPoint } from '../../src/testing/index.ts'
import { SeededRandom } from '../schedule/seeded-random.ts'

/** `finish BEGIN`: the BEGIN of a finish, right after the node has judged its lease for the last time. */
export type SimulatedPoint = Extract<FaultPoint, string> | 'finish BEGIN'

/** What befalls the cluster at a moment of the troubled time. */
export type Trouble =
  | { readonly kind: 'freeze'; readonly at: number; readonly pick: number; readonly forMs: number; readonly first: 'timers' | 'outside' }
  | { readonly kind: 'kill'; readonly at: number; readonly pick: number }
  | { readonly kind: 'suspend'; readonly at: number; readonly pick: number; readonly forMs: number }
  | { readonly kind: 'wall'; readonly at: number; readonly pick: number; readonly byMs: number }
  | { readonly kind: 'outage'; readonly at: number; readonly forMs: number }
  | { readonly kind: 'slow'; readonly at: number; readonly forMs: number; readonly latencyMs: number }
  | { readonly kind: 'database-clock'; readonly at: number; readonly byMs: number }
  /** A person at one of the instances. A pause ends by itself, so that the rest of the run says something. */
  | { readonly kind: 'pause'; readonly at: number; readonly pick: number; readonly forMs: number }
  | { readonly kind: 'trigger' | 'cancel' | 'retry'; readonly at: number; readonly pick: number }
  | { readonly kind: 'fault'; readonly at: number; readonly point: SimulatedPoint; readonly action: FaultAction; readonly times: number }

/** How the handlers behave; each attempt draws its own from it. */
export interface Work {
  readonly longestMs: number
  readonly throwing: number
  /** The share that completes by `ctx.transaction`. */
  readonly transactional: number
  /** The share that does not look at its signal while it works. */
  readonly deaf: number
}

/**
 * What a run dwells on. Blind chance seldom meets what needs several things at once: a process that wakes up behind its successor and goes on
 * where it was (`zombies`), an answer that is lost at the one COMMIT that matters (`answers`).
 */
export type Theme = 'anything' | 'zombies' | 'answers'

/** One run, as its seed decides it. */
export interface Scenario {
  readonly seed: number
  readonly theme: Theme
  readonly nodes: number
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly veto: boolean
  readonly skewsMs: readonly number[]
  readonly driftsPpm: readonly number[]
  readonly latencyMs: number
  readonly periodMs: number
  readonly task: TaskOptions
  readonly work: Work
  readonly troubledMs: number
  readonly troubles: readonly Trouble[]
}

const points: readonly SimulatedPoint[] = [
  'finish BEGIN', 'finish BEGIN', 'finish BEGIN',
  'slot', 'start gate', 'start', 'start COMMIT', 'finish', 'finish COMMIT', 'finish COMMIT', 'heartbeat', 'heartbeat COMMIT', 'look around', 'dead', 'recover', 'recover COMMIT', 'gate COMMIT', 'read back',
  'register', 'retire', 'missed', 'missed COMMIT', 'due', 'skip', 'BEGIN', 'COMMIT', 'ROLLBACK', 'open',
]
const zombiePoints: readonly SimulatedPoint[] = ['finish BEGIN', 'finish BEGIN', 'finish BEGIN', 'finish COMMIT', 'start gate', 'start COMMIT', 'heartbeat', 'slot', 'recover COMMIT']
const answerPoints: readonly SimulatedPoint[] = ['slot', 'start COMMIT', 'finish COMMIT', 'finish COMMIT', 'heartbeat COMMIT', 'recover COMMIT', 'missed COMMIT', 'read back']
const moments: readonly FaultMoment[] = ['before-send', 'before-reply']
const troubledMs = 6000

/** A scenario in which people operate the schedule besides, and nothing missed is passed over: all of it is to run, or a person is to look. */
export function drawOperatedScenario(seed: number, policies: readonly OverlapPolicy[]): Scenario {
  const scenario = drawScenario(seed, policies)
  const random = new SeededRandom(seed ^ 0x51ed270b)
  const people = Array.from({ length: random.between(1, 4) }, (): Trouble => {
    const [at, pick] = [random.between(100, troubledMs), random.between(0, 1000)]
    if (random.chance(0.3)) return { kind: 'pause', at, pick, forMs: random.between(100, 3000) }
    return { kind: random.pick(['trigger', 'cancel', 'retry'] as const), at, pick }
  })
  const keepsOne = scenario.task.overlap === 'queue-one' || scenario.task.overlap === 'cancel-previous'
  const misfire = !keepsOne && random.chance(0.6) ? 'run-all' : random.pick(['run-once', 'stall'] as const)
  const recovery = random.chance(0.2) ? { recovery: 'stall' } as const : {}
  return { ...scenario, task: { ...scenario.task, ...recovery, misfire, runAll: { max: random.pick([2, 5, 100]) } }, troubles: [...scenario.troubles, ...people].sort((a, b) => a.at - b.at) }
}

/** @param policies which overlap policies to draw from */
export function drawScenario(seed: number, policies: readonly OverlapPolicy[]): Scenario {
  const random = new SeededRandom(seed)
  const leaseMs = random.pick([1500, 2000, 3000])
  const heartbeatMs = Math.floor(leaseMs * random.pick([0.25, 0.37]))
  const nodes = random.pick([1, 2, 3, 3, 3])
  const overlap = random.pick(policies)
  const theme = random.pick<Theme>(['anything', 'anything', 'zombies', 'answers'])
  const periodMs = random.pick(overlap === 'cancel-previous' ? [3000] : [1000, 1000, 2000, 3000])
  const task: TaskOptions = {
    everyMs: periodMs, overlap,
    retry: { max: random.pick([0, 0, 1, 2]), backoffMs: random.pick([50, 200, 700]), backoff: random.pick(['fixed', 'exponential']) },
    timeoutMs: random.chance(0.3) ? random.between(300, 2000) : 60_000,
    misfire: random.chance(0.7) ? 'run-once' : 'skip',
    recovery: random.chance(0.8) ? 'retry' : 'fail',
    jitterMs: random.chance(0.2) ? random.between(1, 400) : 0,
  }
  const work: Work = { longestMs: random.pick(theme === 'zombies' ? [400, 1500, 3000] : [50, 400, 1500, 3000]), throwing: random.pick([0, 0, 0.2, 0.5]), transactional: random.pick([0, 0.5, 1]), deaf: random.pick([0, 0, 0.2]) }
  return {
    seed, theme, nodes, leaseMs, heartbeatMs, veto: random.chance(0.15), task, work, periodMs, troubledMs,
    skewsMs: Array.from({ length: 32 }, () => random.pick([0, random.between(-2000, 2000), random.between(-7_200_000, 7_200_000)])),
    driftsPpm: Array.from({ length: 32 }, () => random.pick([0, random.between(-500, 500)])),
    latencyMs: random.pick(theme === 'zombies' ? [0, 0, 1] : [0, 1, 1, 4]),
    troubles: Array.from({ length: random.between(2, 7) }, () => drawTrouble(random, leaseMs, theme)).sort((a, b) => a.at - b.at),
  }
}

function drawTrouble(random: SeededRandom, leaseMs: number, theme: Theme): Trouble {
  const at = random.between(100, troubledMs)
  const pick = random.between(0, 1000)
  const pause = (): number => random.between(50, Math.round(leaseMs * random.pick([0.3, 1.2, 2.5])))
  if (theme === 'zombies' && random.chance(0.6)) {
    const forMs = Math.round(leaseMs * (1 + 1.5 * random.next()))
    return { kind: 'fault', at, point: random.pick(zombiePoints), action: freeze(random.pick(['before-send', 'before-send', 'before-reply']), forMs, random.pick(['timers', 'outside', 'outside'])), times: 1 }
  }
  if (theme === 'answers' && random.chance(0.6)) {
    return { kind: 'fault', at, point: random.pick(answerPoints), action: random.pick([lose, lose, silence])(random.pick(['before-send', 'before-reply', 'before-reply'])), times: random.pick([1, 1, 2]) }
  }
  const dice = random.next()
  if (dice < 0.5) return { kind: 'fault', at, point: random.pick(points), action: drawAction(random, pause), times: random.pick([1, 1, 2]) }
  if (dice < 0.68) return { kind: 'freeze', at, pick, forMs: pause(), first: random.pick(['timers', 'outside']) }
  if (dice < 0.78) return { kind: 'kill', at, pick }
  if (dice < 0.85) return { kind: 'outage', at, forMs: pause() }
  if (dice < 0.89) return { kind: 'slow', at, forMs: pause(), latencyMs: random.between(10, 120) }
  if (dice < 0.93) return { kind: 'suspend', at, pick, forMs: pause() }
  if (dice < 0.97) return { kind: 'wall', at, pick, byMs: random.between(-7_200_000, 7_200_000) }
  // Forward by less than the margin, or nobody could keep what the lease promised.
  return { kind: 'database-clock', at, byMs: random.between(-Math.round(leaseMs / 2), Math.round(leaseMs / 10)) }
}

function drawAction(random: SeededRandom, pause: () => number): FaultAction {
  const when = random.pick(moments)
  switch (random.between(0, 7)) {
    case 0: case 1: return lose(when)
    case 2: return silence(when)
    case 3: return delay(random.between(10, 900), when)
    case 4: return fail(random.pick(['deadlock', 'serialization', 'lock-timeout', 'query-timeout', 'unknown']))
    case 5: return kill(when)
    default: return freeze(when, pause(), random.pick(['timers', 'outside']))
  }
}
