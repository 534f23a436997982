import { printSchema } from '../../src/ledger/migrate.ts'
import { tableNames } from '../../src/ledger/tables.ts'
import type { TaskContext } from '../../src/executor/task-context.ts'
import { virtualNodes, type MemoryClient, type Step, type VirtualNode, type VirtualNodes } from '../../src/testing/index.ts'
import { memoryFragments } from '../../src/testing/database/memory-fragments.ts'
import { SeededRandom } from '../schedule/seeded-random.ts'
import { installAudit } from './audit.ts'
import type { Scenario, Trouble } from './scenario.ts'
import { seedHost } from './seeded-host.ts'

/** A moment at which a handler looked at its signal, found its lease good, and went on. */
export interface Touch { readonly order: number; readonly at: number; readonly executionId: string; readonly owner: string; readonly fencingToken: number; readonly first: boolean }

export interface Outcome {
  readonly scenario: Scenario
  readonly cluster: VirtualNodes
  readonly touches: readonly Touch[]
  /** Owners of the attempts that completed, or tried to complete, by `ctx.transaction`. */
  readonly transactional: ReadonlySet<string>
  /** From the first instant at which the task may have fired to its last fire time. */
  readonly firstAt: number
  readonly lastAt: number
  readonly troublesMet: readonly string[]
}

export const taskName = 'job'
const tables = tableNames(memoryFragments)
const schema = printSchema(memoryFragments, tables, {}).split(';\n').filter((statement) => statement !== '')
const startAt = Date.UTC(2030, 0, 1)
const quietStepMs = 1000
const longestQuietMs = 90_000

/** Plays a scenario: troubles first, then quiet until nothing is open any more, or for long enough that it never will be. */
export async function simulate(scenario: Scenario): Promise<Outcome> {
  const release = seedHost(scenario.seed)
  try {
    return await play(scenario)
  } finally {
    release()
  }
}

async function play(scenario: Scenario): Promise<Outcome> {
  const { leaseMs, heartbeatMs, task, nodes, seed } = scenario
  const random = new SeededRandom(seed ^ 0x2545f491)
  const touches: Touch[] = []
  const transactional = new Set<string>()
  const troublesMet: string[] = []
  const lastAt = startAt + Math.floor((scenario.troubledMs + 2000) / scenario.periodMs + 1) * scenario.periodMs
  let latencyMs = scenario.latencyMs
  let troubled = true

  const work = async (context: TaskContext<MemoryClient>, node: VirtualNode): Promise<void> => {
    const { executionId, owner, fencingToken, signal } = context
    const touch = (first = false): void => { touches.push({ order: touches.length, at: node.clock.worldMs(), executionId, owner, fencingToken, first }) }
    touch(true)
    const { longestMs, throwing, transactional: share, deaf } = scenario.work
    const listens = !random.chance(deaf)
    for (let leftMs = random.between(0, longestMs); leftMs > 0;) {
      const stepMs = Math.min(leftMs, random.between(5, 250))
      await node.sleep(stepMs, listens ? signal : undefined)
      leftMs -= stepMs
      if (!signal.aborted) touch()
      else if (listens) throw signal.reason as Error
    }
    if (random.chance(throwing)) throw new Error('the work failed')
    if (!random.chance(share)) return
    transactional.add(owner)
    await context.transaction(async (client) => {
      client.prepare('INSERT INTO effects (execution_id, owner, token) VALUES (?, ?, ?)').run(executionId, owner, BigInt(fencingToken))
      if (random.chance(0.5)) await node.sleep(random.between(1, 60))
    })
  }

  const cluster = virtualNodes(nodes, {
    startAt,
    database: { latencyMs: () => (latencyMs === 0 ? 0 : random.next() * random.pick([0, latencyMs, latencyMs, 5 * latencyMs])) },
    clocks: (index) => ({ driftPpm: scenario.driftsPpm[index] ?? 0 }),
    scheduler: { leaseMs, heartbeatMs, abortGraceMs: 300, drainMs: 500, concurrency: 3, lockVeto: scenario.veto ? 'on' : 'off', random: () => random.next(), retentionMs: Infinity },
    tasks: (node) => {
      node.task(taskName, { ...task, endAt: new Date(lastAt) }, work)
      // After the registration, which refuses a schedule that is over by the host's own clock.
      node.clock.jumpWall(scenario.skewsMs[node.index] ?? 0)
      // A pod that died is replaced.
      node.dialect.host.onKill(() => { at(random.between(0, 1200), () => { boot(cluster.add()) }) })
    },
  })
  const { timeline } = cluster.clock
  const at = (delayMs: number, happen: () => void): void => { timeline.at(timeline.nowMs + delayMs, happen) }
  /** Starts it, and again while the database is away. */
  const boot = (node: VirtualNode): void => {
    node.start().catch(() => { at(200, () => { if (node.alive) boot(node) }) })
  }
  /** What a person asks may fail while everything else does. */
  const operate = (node: VirtualNode | undefined, ask: (scheduler: VirtualNode['scheduler']) => Promise<unknown>): void => {
    if (node !== undefined) void ask(node.scheduler).catch(() => undefined)
  }
  /** Somebody comes back to it until it is done. */
  const resume = (): void => {
    const node = cluster.nodes.find((candidate) => candidate.alive && !candidate.clock.frozen)
    if (node === undefined) return at(200, resume)
    node.scheduler.resume(taskName).catch(() => { at(200, resume) })
  }
  const anExecution = (states: readonly string[], pick: number): string => {
    const found = cluster.ledger(taskName).filter(({ state }) => states.includes(state))
    return found[pick % Math.max(1, found.length)]?.executionId ?? 'nothing'
  }
  const isFinishBegin = ({ name, purpose, node }: Step): boolean =>
    name === 'BEGIN' && purpose === 'store' && cluster.runs().some((run) => run.node === node && run.endedAt !== undefined && cluster.clock.worldMs() - run.endedAt < 2)
  const meet = (trouble: Trouble): void => {
    const living = cluster.nodes.filter((node) => node.alive)
    const victim = 'pick' in trouble ? living[trouble.pick % living.length] : undefined
    if ('pick' in trouble && victim === undefined) return
    troublesMet.push(`+${Math.round(timeline.nowMs)} ${trouble.kind} ${victim?.name ?? ''} ${JSON.stringify(trouble)}`)
    switch (trouble.kind) {
      case 'freeze':
        victim?.freeze()
        return at(trouble.forMs, () => victim?.thaw(trouble.first))
      case 'kill': return victim?.kill()
      case 'suspend':
        victim?.clock.fallAsleep()
        return at(trouble.forMs, () => victim?.clock.wakeUp())
      case 'wall':
        // A host that slept and was set back by as much does not know that it slept: nothing could tell it.
        if (!scenario.troubles.some(({ kind }) => kind === 'suspend')) victim?.clock.jumpWall(trouble.byMs)
        return
      case 'pause':
        operate(victim, (scheduler) => scheduler.pause(taskName))
        return at(trouble.forMs, () => { resume() })
      case 'trigger': return operate(victim, (scheduler) => scheduler.trigger(taskName))
      case 'cancel': return operate(victim, (scheduler) => scheduler.cancel(anExecution(['running', 'pending', 'retry'], trouble.pick)))
      case 'retry': return operate(victim, (scheduler) => scheduler.retry(anExecution(['failed', 'skipped', 'missed'], trouble.pick)))
      case 'outage':
        cluster.database.stop()
        return at(trouble.forMs, () => { cluster.database.restart() })
      case 'slow':
        latencyMs = trouble.latencyMs
        return at(trouble.forMs, () => { latencyMs = scenario.latencyMs })
      case 'database-clock': return cluster.database.jumpClock(trouble.byMs)
      case 'fault': if (troubled) cluster.faults.before(trouble.point === 'finish BEGIN' ? isFinishBegin : trouble.point, trouble.action, { times: trouble.times })
    }
  }

  for (const statement of schema) cluster.database.query(statement)
  installAudit(cluster.database)
  for (const node of cluster.nodes) boot(node)
  // A second time change in the same lease would eat the margin twice.
  const clockSteps = scenario.troubles.filter(({ kind }) => kind === 'database-clock').slice(1)
  for (const trouble of scenario.troubles) if (!clockSteps.includes(trouble)) timeline.at(trouble.at, () => { meet(trouble) })

  await cluster.advance(scenario.troubledMs)
  troubled = false
  cluster.faults.clear()
  await cluster.advance(2000 + leaseMs)
  // A pause that was asked of a frozen process may have come after its resume.
  if (scenario.troubles.some(({ kind }) => kind === 'pause')) resume()
  const untilQuiet = async (): Promise<void> => {
    for (let quietMs = 0; quietMs < longestQuietMs && isOpen(cluster, lastAt); quietMs += quietStepMs) {
      if (cluster.database.query("SELECT 1 AS found FROM sched_tasks WHERE state = 'stalled'").length > 0) resume()
      await cluster.advance(quietStepMs)
    }
  }
  await untilQuiet()
  // Holes are settled a heartbeat and a scan after the last trouble, on a slow line too: until then nothing shows that they are open.
  await cluster.advance(4 * scenario.heartbeatMs + 3000)
  await untilQuiet()
  return { scenario, cluster, touches, transactional, firstAt: startAt, lastAt, troublesMet }
}

/** Something is under way, or has not been accounted for. */
function isOpen(cluster: VirtualNodes, lastAt: number): boolean {
  if (cluster.nodes.some((node) => node.alive && (node.clock.frozen))) return true
  const { database } = cluster
  const [row] = database.query(`SELECT (SELECT COUNT(*) FROM sched_executions WHERE state IN ('pending', 'running', 'retry')) + (SELECT COUNT(*) FROM sched_tasks WHERE gate_owner IS NOT NULL OR state = 'stalled') AS open,
 (SELECT MAX(fire_time) FROM sched_executions) AS newest, (SELECT armed_from FROM sched_tasks) AS armed`)
  return row?.['open'] !== 0 || Math.max(row['newest'] as number, row['armed'] as number) < lastAt
}
