/** One deliberate breakage, and the test files that must notice it. */
export interface Mutant {
  readonly name: string
  readonly promise: string
  /** Under `src`. */
  readonly file: string
  readonly find: string
  readonly put: string
  /** Under `test`. */
  readonly tests: readonly string[]
  /** Only tests whose title matches: the others would take long. */
  readonly only?: string
}

const mineRunning = `state = 'running' AND owner = ? AND fencing_token = ?`
const afterFind = `const found = await readBack(ledger, unanswered(attempt, end))`

export const mutants: readonly Mutant[] = [
  // P1
  { name: 'the claim window is not checked', promise: 'P1 P9', file: 'ledger/slot.ts', find: 'AND ? BETWEEN ${sql.nowMs} - ? AND ${sql.nowMs} + ?', put: 'AND ? + ? + ? > 0', tests: ['ledger/slot'] },
  { name: 'the slot ignores armed_from', promise: 'P1', file: 'ledger/slot.ts', find: 'AND armed_from < ?', put: 'AND ? > 0', tests: ['ledger/slot'] },
  { name: 'the slot ignores the definition', promise: 'P1', file: 'ledger/slot.ts', find: 'AND definition_hash = ? AND', put: `AND ? <> '' AND`, tests: ['ledger/slot'] },
  { name: 'the slot ignores the state of the task', promise: 'P1', file: 'ledger/slot.ts', find: `AND state = 'active' AND definition_hash`, put: 'AND definition_hash', tests: ['ledger/slot'] },
  { name: 'a repeated slot of our own is taken', promise: 'P1', file: 'ledger/slot.ts', find: `return outcome.status === 'taken' && await isMine(ledger, full) ? { status: 'won' } : outcome`, put: 'return outcome', tests: ['ledger/lost-answers'] },
  { name: 'a start does not look whether the execution moved on', promise: 'P1', file: 'ledger/start.ts', find: `AND state IN ('pending', 'retry') AND due_at`, put: 'AND due_at', tests: ['ledger/start'] },
  { name: 'missed scans do not notice each other', promise: 'P1', file: 'ledger/missed.ts', find: `if (task?.['armed_from'] !== request.armedFrom) return 'overtaken'`, put: '', tests: ['ledger/missed'] },
  { name: 'a lower revision replaces a higher one', promise: 'P1', file: 'ledger/tasks.ts', find: 'if (node.revision < row.revision) return true', put: 'if (false) return true', tests: ['ledger/registration'] },
  { name: 'a lower revision replaces a higher one that nobody carries', promise: 'P1', file: 'ledger/adopt.ts', find: 'found.retired || node.revision < stored.revision', put: 'found.retired', tests: ['ledger/registration'] },
  { name: 'a change of the schedule leaves no record', promise: 'P1', file: 'ledger/redefine.ts', find: 'if (old !== null) await writeOff(', put: 'if (old === undefined) await writeOff(', tests: ['ledger/write-off'] },
  { name: 'every change of a definition starts anew', promise: 'P1', file: 'ledger/redefine.ts', find: 'if (!retired && old !== null && old.key ===', put: 'if (false && old !== null && old.key ===', tests: ['ledger/write-off'] },
  { name: 'a node that comes back is a later boot', promise: 'P1', file: 'ledger/tasks.ts', find: ' || node.again === true)', put: ')', tests: ['ledger/registration'] },
  { name: 'instances fire by their own clock', promise: 'P1 P9', file: 'executor/database-clock.ts', find: 'nowMs(): number { return this.#clock.monotonicMs() + this.#offset() }', put: 'nowMs(): number { return this.#clock.wallMs() }', tests: ['executor/skewed-clocks'] },
  { name: 'a scan picks what may have run and been deleted since', promise: 'P1', file: 'executor/missed-scan.ts', find: 'latest >= newest || ageMs(latest) <= oldestRunMs(task, leaseMs) ? [latest] : []', put: '[latest]', tests: ['operations/missed-slots'] },
  // P2
  { name: 'the gate is not checked', promise: 'P2', file: 'ledger/start.ts', find: ' AND gate_owner IS NULL`', put: '`', tests: ['ledger/start'] },
  { name: 'the gate of a deaf handler is given away', promise: 'P2', file: 'executor/attempt.ts', find: `await this.#write(end, settled.status !== 'stuck')`, put: 'await this.#write(end, true)', tests: ['executor/timeouts'] },
  { name: 'a node with a deaf handler leaves as dead', promise: 'P2', file: 'executor/running-node.ts', find: 'await this.#leave(unsettled === 0)', put: 'await this.#leave(true)', tests: ['executor/drain'] },
  { name: 'a refused lock is no reason not to start', promise: 'P2', file: 'executor/lock-veto.ts', find: `return 'refused'`, put: 'return { judge: () => undefined, onLost: () => {}, release: async () => {} }', tests: ['executor/lock-veto'] },
  // P4, P7
  { name: 'a finish does not name its owner', promise: 'P4 P7', file: 'ledger/finish.ts', find: mineRunning, put: `state = 'running' AND ? <> '' AND fencing_token = ?`, tests: ['ledger/finish'] },
  { name: 'a finish does not name its token', promise: 'P7', file: 'ledger/finish.ts', find: mineRunning, put: `state = 'running' AND owner = ? AND ? > 0`, tests: ['ledger/finish'] },
  { name: 'a finish does not name the state', promise: 'P7', file: 'ledger/finish.ts', find: mineRunning, put: 'owner = ? AND fencing_token = ?', tests: ['ledger/state-machine'] },
  { name: 'a recovery does not name the token', promise: 'P7', file: 'ledger/sweep.ts', find: `AND state = 'running' AND owner = ? AND fencing_token = ?`, put: `AND state = 'running' AND owner = ? AND ? > 0`, tests: ['ledger/sweep'] },
  { name: 'a recovery does not name the owner', promise: 'P7', file: 'ledger/sweep.ts', find: `AND state = 'running' AND owner = ? AND fencing_token = ?`, put: `AND state = 'running' AND ? <> '' AND fencing_token = ?`, tests: ['ledger/sweep'] },
  { name: 'owners are made of host and process', promise: 'P4', file: 'executor/attempt.ts', find: 'const owner = randomUUID()', put: 'const owner = `host:${process.pid}`', tests: ['executor/attempt-facts'] },
  { name: 'tokens follow the clock only', promise: 'P7', file: 'ledger/start.ts', find: 'CASE WHEN fencing_token >= ${nowMs} THEN fencing_token + 1 ELSE ${nowMs} END', put: '${nowMs}', tests: ['ledger/start'] },
  { name: 'a lost answer to a finish is not read back', promise: 'P7', file: 'ledger/finish.ts', find: afterFind, put: `const found = { status: 'fenced' } as Awaited<ReturnType<typeof readBack>>`, tests: ['ledger/lost-answers'] },
  { name: 'a finish that matched nothing is not read back', promise: 'P7', file: 'ledger/finish.ts', find: `return finishedAs(await readBack(ledger, unanswered(attempt, end)), end)`, put: `return 'fenced'`, tests: ['ledger/finish'] },
  { name: 'the read-back is a plain SELECT', promise: 'P7', file: 'ledger/read-back.ts', find: 'await sql.run({ text: `UPDATE ${tables.executions} SET due_at = due_at WHERE namespace = ? AND execution_id = ?`, params: key })', put: '', tests: ['ledger/lost-answers'] },
  // P5, P6
  { name: 'no local deadline', promise: 'P5', file: 'executor/node-lease.ts', find: 'this.#lost === undefined && this.leftMs() <= 0', put: 'false', tests: ['executor/lost-lease', 'executor/holder-frozen'] },
  { name: 'a renewal revives a lapsed lease', promise: 'P6', file: 'ledger/nodes.ts', find: `AND state = 'alive' AND lease_until > \${nowMs}\``, put: `AND state = 'alive'\``, tests: ['ledger/heartbeat'] },
  { name: 'a lapsed node may start', promise: 'P6', file: 'ledger/start.ts', find: `AND node_id = ? AND state = 'alive' AND lease_until > \${nowMs})\``, put: `AND node_id = ?)\``, tests: ['ledger/start'] },
  { name: 'what is not due may start', promise: 'P9', file: 'ledger/start.ts', find: `IN ('pending', 'retry') AND due_at <= \${nowMs}`, put: `IN ('pending', 'retry')`, tests: ['ledger/start'] },
  { name: 'crashes are not counted', promise: 'P6', file: 'ledger/sweep.ts', find: `ELSE 'failed' END, crash_count = ?,`, put: `ELSE 'failed' END, crash_count = 0 * ?,`, tests: ['ledger/sweep'] },
  { name: 'a recovery forgets that the execution was cancelled', promise: 'P6', file: 'ledger/sweep.ts', find: 'state = CASE WHEN cancel_requested_at IS NULL THEN ? ELSE', put: 'state = CASE WHEN 1 = 1 THEN ? ELSE', tests: ['ledger/sweep'] },
  { name: 'a retry forgets that the execution was cancelled', promise: 'P6', file: 'ledger/finish.ts', find: `state = CASE WHEN cancel_requested_at IS NULL THEN 'retry' ELSE`, put: `state = CASE WHEN 1 = 1 THEN 'retry' ELSE`, tests: ['ledger/finish'] },
  { name: 'a locked row ends the sweep', promise: 'P6', file: 'ledger/locked-rows.ts', find: `if (errorClassOf(error) === 'lock-timeout') return 'locked'`, put: '', tests: ['ledger/locked-rows'] },
  { name: 'a task whose row is locked ends the scan for those behind it', promise: 'P6', file: 'executor/missed-settler.ts', find: 'if (!ofOneTask(error)) throw error', put: 'throw error', tests: ['operations/missed-slots'] },
  { name: 'a locked row keeps a whole batch from being changed', promise: 'P6', file: 'ledger/locked-rows.ts', find: `if (await unlessLocked(() => change(some)) !== 'locked') continue`, put: 'await change(some); continue', tests: ['ledger/locked-rows'] },
  { name: 'a recovery forgets that it was by hand', promise: 'P6', file: 'ledger/sweep.ts', find: `CASE WHEN attempt_reason = 'manual' THEN 'manual' ELSE 'recovered' END`, put: `CASE WHEN 1 = 1 THEN 'recovered' ELSE 'manual' END`, tests: ['ledger/sweep'] },
  { name: 'a resume forgets the holes behind a slot', promise: 'P1', file: 'ledger/write-off.ts', find: 'if (holes.length > 0) {', put: 'if (holes.length < 0) {', tests: ['ledger/write-off'] },
  { name: 'a task that may run again is not armed anew', promise: 'P6', file: 'executor/dispatcher.ts', find: '(claimable || !task.claimable)) return', put: '(claimable || task.claimable)) return', tests: ['simulation/found'] },
  { name: 'a retry forgets that it was by hand', promise: 'P6', file: 'ledger/finish.ts', find: `CASE WHEN attempt_reason = 'manual' THEN 'manual' ELSE ? END`, put: '?', tests: ['ledger/finish'] },
  { name: 'a look for due rows is put off although a row has come', promise: 'P6', file: 'executor/due-looks.ts', find: '${nearestDueAt} ${latestDueAt} ${due}', put: '${nearestDueAt}', tests: ['executor-parts/due-looks'] },
  { name: 'recovery leaves the gate', promise: 'P6', file: 'ledger/sweep.ts', find: `await freeGateStatement(ledger, taskName, row['owner'] as string, sql)`, put: '', tests: ['ledger/sweep'] },
  { name: 'a tombstone is for ever', promise: 'P6', file: 'ledger/tasks.ts', find: 'await highestRevision(ledger, node, sql) >= row.revision', put: 'await highestRevision(ledger, node, sql) >= -1', tests: ['ledger/registration'] },
  { name: 'a node that comes back does not register its tasks', promise: 'P1', file: 'executor/running-node.ts', find: 'if (this.#registeredAs !== undefined && this.#registeredAs !== this.nodeId)', put: 'if (false)', tests: ['operations/carried-definitions'] },
  { name: 'what waits of a retired task waits for ever', promise: 'P6', file: 'ledger/retire.ts', find: 'if (retired.length > 0) await endRetired(ledger)', put: '', tests: ['ledger/registration'] },
  { name: 'the heartbeat ends before the drain', promise: 'P6', file: 'executor/running-node.ts', find: 'const { drainMs, abortGraceMs, heartbeatMs } = this.#options', put: 'const { drainMs, abortGraceMs, heartbeatMs } = this.#options; await this.#lease.stop(false)', tests: ['executor/drain'] },
  { name: 'an interrupted attempt is charged', promise: 'P6', file: 'executor/attempt.ts', find: `reason: 'interrupted', delayMs: 0, charged: false`, put: `reason: 'interrupted', delayMs: 0, charged: true`, tests: ['executor/drain'] },
  { name: 'nobody sweeps', promise: 'P6', file: 'executor/running-node.ts', find: 'if (beat.orphans > 0 || this.#unknown(beat))', put: 'if (false)', tests: ['executor/holder-killed'] },
  // P8, P9, P10, P11, P12
  { name: 'ctx.transaction commits unguarded', promise: 'P8', file: 'executor/task-context.ts', find: 'if (!matched) throw this.#fenced()', put: 'void matched', tests: ['executor/transaction'] },
  { name: 'ctx.transaction leaves success to the finish', promise: 'P8', file: 'executor/task-context.ts', find: 'const matched = await finishStatements(', put: 'const matched = true; void (async () => finishStatements)(); void (', tests: ['executor/transaction'] },
  { name: 'the clock uncertainty of the servers is ignored', promise: 'P9', file: 'session/safety-margin.ts', find: '+ clockUncertaintyMs', put: '+ 0 * clockUncertaintyMs', tests: ['executor/lost-lease'] },
  { name: 'a jump of the database\'s clock is ignored', promise: 'P9', file: 'executor/node-lease.ts', find: 'if (departed > marginMs) {', put: 'if (false) {', tests: ['executor/clock-steps'] },
  { name: 'poison is told as a lost lease', promise: 'P10', file: 'telemetry/observe-scheduler.ts', find: 'code: event.errorCode', put: `code: 'SCHED_LEASE_LOST'`, tests: ['telemetry/final-failure'] },
  { name: 'the counters of a task appear with its first event', promise: 'P10', file: 'telemetry/observe-scheduler.ts', find: 'started: ({ tasks }) => { for (const task of tasks) introduce(task) },', put: '', tests: ['telemetry/metric-catalogue'], only: 'counters of every task' },
  { name: 'a schema from the future is used', promise: 'P10', file: 'ledger/migrate.ts', find: 'if (reader !== null && reader > schemaVersion) {', put: 'if (false) {', tests: ['ledger/migration'], only: 'too new' },
  { name: 'the veto is dropped silently behind a pooler', promise: 'P11', file: 'executor/prepare-node.ts', find: `if (options.lockVeto === 'on') throw refused(refusal)`, put: '', tests: ['executor/pooler'] },
  { name: 'every heartbeat looks for due rows that are nobody\'s', promise: 'P12', file: 'executor/due-looks.ts', find: 'if (foreign && this.#paused < this.#pause) {', put: 'if (false) {', tests: ['executor-parts/due-looks'] },
  { name: 'every heartbeat sweeps', promise: 'P12', file: 'executor/running-node.ts', find: 'if (beat.orphans > 0 ||', put: 'if (beat.orphans >= 0 ||', tests: ['executor/idle-cost'] },
]
