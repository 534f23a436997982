import { transitions, type ExecutionState } from '../../src/ledger/execution-state.ts'
import { readAudit, readEffects, type Change } from './audit.ts'
import { taskName, type Outcome } from './simulate.ts'

/** What must hold after every run, whatever befell the cluster. Returns what does not, in words. */
export function violations(outcome: Outcome): string[] {
  const audit = readAudit(outcome.cluster.database)
  return [
    ...ledgerHistory(outcome, audit), ...oneStartPerSlot(audit), ...nothingOpen(outcome), ...everySlotAccountedFor(outcome, audit),
    ...noOverlap(outcome), ...ownEndsOnly(outcome, audit), ...effectsExactlyOnce(outcome, audit), ...eventsTellTheTruth(outcome, audit),
  ]
}

const describe = ({ seq, at, kind, subject, before, after, ownerBefore, ownerAfter, tokenAfter }: Change): string =>
  `#${seq} +${at - Date.UTC(2030, 0, 1)} ${kind} ${subject.slice(0, 8)} ${before ?? '-'}→${after ?? '-'} owner ${ownerBefore?.slice(0, 8) ?? '-'}→${ownerAfter?.slice(0, 8) ?? '-'} token ${tokenAfter ?? '-'}`

/** I1 (no row goes), I2 (the gate), I3 (no node comes back), I5 (owner and state), I6 (tokens grow), and the table of transitions. */
function* ledgerHistory({ scenario }: Outcome, audit: readonly Change[]): Iterable<string> {
  const gated = scenario.task.overlap !== 'allow'
  const running = new Map<string, Change>()
  let lastToken = 0
  for (const change of audit) {
    const { kind, before, after, ownerBefore, ownerAfter, tokenBefore, tokenAfter, subject, reason } = change
    if (kind === 'removed') yield `I1: a row was removed: ${describe(change)}`
    if (kind === 'revived' || (kind === 'node' && after === 'alive')) yield `I3: a node that was dead or lapsed came back: ${describe(change)}`
    if (kind === 'gate') {
      if (ownerBefore !== null && ownerAfter !== null && ownerBefore !== ownerAfter) yield `I2: a gate passed from owner to owner: ${describe(change)}`
      if ((tokenAfter ?? 0) < (tokenBefore ?? 0)) yield `I6: a token shrank: ${describe(change)}`
    }
    if (kind === 'row' && !transitions.new.includes(after as ExecutionState)) yield `a row began as ${after}: ${describe(change)}`
    if (kind !== 'execution') continue
    if (before !== after && !transitions[before as ExecutionState].includes(after as ExecutionState)) yield `an illegal transition: ${describe(change)}`
    if (before === 'running') {
      running.delete(subject)
      // What a person asked for stays by hand.
      const recovered = ownerAfter === null && (reason === 'recovered' || reason === 'manual')
      if (after === 'running' || (ownerAfter !== ownerBefore && !recovered)) yield `I5: a running execution changed hands: ${describe(change)}`
    }
    if (after === 'running') {
      if (gated && running.size > 0) yield `P2: two executions run at once: ${describe(change)} beside ${[...running.values()].map(describe).join(', ')}`
      if ((tokenAfter ?? 0) <= lastToken) yield `I6: a start with a token that is not larger than the one before (${lastToken}): ${describe(change)}`
      lastToken = tokenAfter ?? 0
      running.set(subject, change)
    }
  }
}

/** P1 */
function* oneStartPerSlot(audit: readonly Change[]): Iterable<string> {
  const firsts = new Set<string>()
  for (const change of audit) {
    if (change.kind !== 'execution' || change.before !== 'pending' || change.after !== 'running') continue
    if (firsts.has(change.subject)) yield `P1: a second first start: ${describe(change)}`
    firsts.add(change.subject)
  }
}

/** P6 */
function* nothingOpen({ cluster }: Outcome): Iterable<string> {
  for (const { state, fireTime, executionId } of cluster.ledger()) {
    if (state === 'pending' || state === 'running' || state === 'retry') yield `P6: ${executionId.slice(0, 8)} of ${fireTime.toISOString()} is still ${state}`
  }
  for (const row of cluster.database.query('SELECT task_name, gate_owner FROM sched_tasks WHERE gate_owner IS NOT NULL')) yield `P6: the gate of ${String(row['task_name'])} is still held by ${String(row['gate_owner'])}`
}

/** P1: each fire time has its own row or lies in one range record, and none has both. */
function* everySlotAccountedFor({ cluster, scenario, firstAt, lastAt }: Outcome, audit: readonly Change[]): Iterable<string> {
  // What a person triggers is no slot, whatever moment it meets.
  const rows = cluster.ledger(taskName).filter(({ origin }) => origin !== 'manual')
  // Those at or before the registration of the task are nobody's.
  const armedFrom = audit.find(({ kind }) => kind === 'task')?.fireTime ?? -Infinity
  for (let at = firstAt; at <= lastAt; at += scenario.periodMs) {
    const covering = rows.filter(({ fireTime, missedFrom }) => fireTime.getTime() === at || (missedFrom !== null && missedFrom.getTime() <= at && fireTime.getTime() >= at))
    if (covering.length > 1 && covering.filter(({ missedFrom }) => missedFrom === null).length > 1) yield `P1: the fire time +${at - firstAt} has ${covering.length} rows`
    if (covering.length === 0 && at > armedFrom) yield `P6: the fire time +${at - firstAt} was neither run nor recorded`
  }
}

/** P2, P5: whoever found its lease good had not been followed by another, of the same task (`allow`: of the same execution). */
function* noOverlap({ scenario, touches }: Outcome): Iterable<string> {
  const gated = scenario.task.overlap !== 'allow'
  const newest = new Map<string, { token: number; owner: string; at: number }>()
  for (const { at, executionId, owner, fencingToken, first } of touches) {
    const key = gated ? taskName : executionId
    const known = newest.get(key)
    if (known !== undefined && known.token > fencingToken) {
      yield `P2: ${owner.slice(0, 8)} (token ${fencingToken}) found its lease good at +${at - Date.UTC(2030, 0, 1)}, when ${known.owner.slice(0, 8)} (token ${known.token}) had been running since +${known.at - Date.UTC(2030, 0, 1)}`
    }
    if (first && (known === undefined || known.token < fencingToken)) newest.set(key, { token: fencingToken, owner, at })
  }
}

/** P4, P7: an execution is ended by the attempt that ran it, after its handler. */
function* ownEndsOnly({ cluster, transactional, scenario }: Outcome, audit: readonly Change[]): Iterable<string> {
  const byOwner = new Map(cluster.runs().map((run) => [run.owner, run]))
  for (const change of audit) {
    if (change.kind !== 'execution' || change.before !== 'running' || change.ownerAfter === null) continue
    const run = byOwner.get(change.ownerBefore as string)
    if (change.after !== 'succeeded') continue
    if (run === undefined) yield `P7: an attempt whose handler was never called succeeded: ${describe(change)}`
    else if (transactional.has(run.owner)) continue
    else if (run.outcome !== 'returned' || Math.floor(run.endedAt ?? Infinity) > change.at) yield `P7: somebody else wrote the success of ${run.owner.slice(0, 8)}, whose handler had not returned (${scenario.task.overlap}): ${describe(change)}`
  }
}

/** P8: what `ctx.transaction` wrote is there if, and only if, its attempt succeeded. */
function* effectsExactlyOnce({ cluster, transactional }: Outcome, audit: readonly Change[]): Iterable<string> {
  const succeeded = new Map(audit.filter(({ kind, after }) => kind === 'execution' && after === 'succeeded').map((change) => [change.subject, change.ownerAfter as string]))
  const seen = new Set<string>()
  for (const { executionId, owner } of readEffects(cluster.database)) {
    if (seen.has(executionId)) yield `P8: two effects of ${executionId.slice(0, 8)}`
    seen.add(executionId)
    if (succeeded.get(executionId) !== owner) yield `P8: an effect of ${owner.slice(0, 8)}, while ${executionId.slice(0, 8)} was completed by ${succeeded.get(executionId)?.slice(0, 8) ?? 'nobody'}`
  }
  for (const [executionId, owner] of succeeded) {
    if (transactional.has(owner) && !seen.has(executionId)) yield `P8: ${executionId.slice(0, 8)} succeeded by ctx.transaction without its effect`
  }
}

/** P7: nobody who ended his execution is called fenced, and nobody is called ended who did not end it. */
function* eventsTellTheTruth({ cluster }: Outcome, audit: readonly Change[]): Iterable<string> {
  const ends = audit.filter(({ kind, before }) => kind === 'execution' && before === 'running')
  const ended = new Map(ends.filter(({ ownerAfter }) => ownerAfter !== null).map((change) => [change.ownerAfter as string, change.after]))
  // When the attempt after it has crashed before it was read back, its row is that of an attempt that crashed itself.
  const indistinct = new Set(ends.flatMap(({ subject, seq, ownerAfter }) => (ends.some((later) => later.subject === subject && later.seq > seq && later.ownerAfter === null) ? [ownerAfter] : [])))
  for (const node of cluster.nodes) {
    for (const { owner, reason } of node.events('execution.fenced')) if (ended.has(owner) && !indistinct.has(owner)) yield `P7: false fenced: ${owner.slice(0, 8)} had ended its execution as ${ended.get(owner)} (${reason.message})`
    for (const { owner } of node.events('execution.succeeded')) if (ended.get(owner) !== 'succeeded') yield `P7: ${owner.slice(0, 8)} was reported succeeded, the ledger has ${ended.get(owner) ?? 'no end of it'}`
  }
}
