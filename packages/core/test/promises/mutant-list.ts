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
const afterFind = `const found = await readBack(ledger, attempt)`

export const mutants: readonly Mutant[] = [
  // P1
  { name: 'the claim window is not checked', promise: 'P1 P9', file: 'ledger/slot.ts', find: 'AND ? BETWEEN ${sql.nowMs} - ? AND ${sql.nowMs} + ?', put: 'AND ? + ? + ? > 0', tests: ['ledger/slot'] },
  { name: 'the slot ignores armed_from', promise: 'P1', file: 'ledger/slot.ts', find: 'AND armed_from < ?', put: 'AND ? > 0', tests: ['ledger/slot'] },
  { name: 'the slot ignores the definition', promise: 'P1', file: 'ledger/slot.ts', find: 'AND definition_hash = ? AND', put: `AND ? <> '' AND`, tests: ['ledger/slot'] },
  { name: 'the slot ignores the state of the task', promise: 'P1', file: 'ledger/slot.ts', find: `AND state = 'active' AND definition_hash`, put: 'AND definition_hash', tests: ['ledger/slot'] },
  { name: 'a repeated slot of our own is taken', promise: 'P1', file: 'ledger/slot.ts', find: `return await isMine(ledger, full) ? { status: 'won' } : outcome`, put: 'return outcome', tests: ['ledger/slot', 'ledger/lost-answers'] },
  { name: 'a start does not look whether the execution moved on', promise: 'P1', file: 'ledger/start.ts', find: `AND state IN ('pending', 'retry') AND due_at`, put: 'AND due_at', tests: ['ledger/start'] },
  { name: 'missed scans do not notice each other', promise: 'P1', file: 'ledger/missed.ts', find: `if (task?.['armed_from'] !== request.armedFrom) return null`, put: '', tests: ['ledger/missed'] },
  { name: 'a lower revision replaces a higher one', promise: 'P1', file: 'ledger/tasks.ts', find: 'if (node.revision < revision) {', put: 'if (false) {', tests: ['ledger/registration'] },
  { name: 'instances fire by their own clock', promise: 'P1 P9', file: 'executor/database-clock.ts', find: 'nowMs(): number { return this.#clock.monotonicMs() + this.#offset() }', put: 'nowMs(): number { return this.#clock.wallMs() }', tests: ['executor/skewed-clocks'] },
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
  { name: 'a finish that matched nothing is not read back', promise: 'P7', file: 'ledger/finish.ts', find: `return (await readBack(ledger, attempt)).status === 'mine-finished' ? 'done' : 'fenced'`, put: `return 'fenced'`, tests: ['ledger/finish'] },
  { name: 'the read-back is a plain SELECT', promise: 'P7', file: 'ledger/read-back.ts', find: 'await sql.run({ text: `UPDATE ${tables.executions} SET due_at = due_at WHERE namespace = ? AND execution_id = ?`, params: key })', put: '', tests: ['ledger/lost-answers'] },
  // P5, P6
  { name: 'no local deadline', promise: 'P5', file: 'executor/node-lease.ts', find: 'this.#lost === undefined && this.leftMs() <= 0', put: 'false', tests: ['executor/lost-lease', 'executor/holder-frozen'] },
  { name: 'a renewal revives a lapsed lease', promise: 'P6', file: 'ledger/nodes.ts', find: `AND state = 'alive' AND lease_until > \${nowMs}\``, put: `AND state = 'alive'\``, tests: ['ledger/heartbeat'] },
  { name: 'a lapsed node may start', promise: 'P6', file: 'ledger/start.ts', find: `AND node_id = ? AND state = 'alive' AND lease_until > \${nowMs})\``, put: `AND node_id = ?)\``, tests: ['ledger/start'] },
  { name: 'what is not due may start', promise: 'P9', file: 'ledger/start.ts', find: `IN ('pending', 'retry') AND due_at <= \${nowMs}`, put: `IN ('pending', 'retry')`, tests: ['ledger/start'] },
  { name: 'crashes are not counted', promise: 'P6', file: 'ledger/sweep.ts', find: 'SET state = ?, crash_count = ?,', put: 'SET state = ?, crash_count = 0 * ?,', tests: ['ledger/sweep'] },
  { name: 'a locked row ends the sweep', promise: 'P6', file: 'ledger/sweep.ts', find: `if (errorClassOf(error) === 'lock-timeout') return 'locked'`, put: '', tests: ['ledger/locked-rows'] },
  { name: 'recovery leaves the gate', promise: 'P6', file: 'ledger/sweep.ts', find: `await freeGateStatement(ledger, row['task_name'] as string, row['owner'] as string, sql)`, put: '', tests: ['ledger/sweep'] },
  { name: 'the heartbeat ends before the drain', promise: 'P6', file: 'executor/running-node.ts', find: 'const { drainMs, abortGraceMs, heartbeatMs } = this.#options', put: 'const { drainMs, abortGraceMs, heartbeatMs } = this.#options; await this.#lease.stop(false)', tests: ['executor/drain'] },
  { name: 'an interrupted attempt is charged', promise: 'P6', file: 'executor/attempt.ts', find: `reason: 'interrupted', delayMs: 0, charged: false`, put: `reason: 'interrupted', delayMs: 0, charged: true`, tests: ['executor/drain'] },
  { name: 'nobody sweeps', promise: 'P6', file: 'executor/running-node.ts', find: 'if (beat.orphans > 0 || this.#unknown(beat))', put: 'if (false)', tests: ['executor/holder-killed'] },
  // P8, P9, P10, P11, P12
  { name: 'ctx.transaction commits unguarded', promise: 'P8', file: 'executor/task-context.ts', find: 'if (!matched) throw this.#fenced()', put: 'void matched', tests: ['executor/transaction'] },
  { name: 'ctx.transaction leaves success to the finish', promise: 'P8', file: 'executor/task-context.ts', find: 'const matched = await finishStatements(', put: 'const matched = true; void (async () => finishStatements)(); void (', tests: ['executor/transaction'] },
  { name: 'the clock uncertainty of the servers is ignored', promise: 'P9', file: 'session/safety-margin.ts', find: '+ clockUncertaintyMs', put: '+ 0 * clockUncertaintyMs', tests: ['executor/lost-lease'] },
  { name: 'a jump of the database\'s clock is ignored', promise: 'P9', file: 'executor/node-lease.ts', find: 'if (departed > marginMs) {', put: 'if (false) {', tests: ['executor/clock-steps'] },
  { name: 'a schema from the future is used', promise: 'P10', file: 'ledger/migrate.ts', find: 'if (reader !== null && reader > schemaVersion) {', put: 'if (false) {', tests: ['ledger/migration'], only: 'too new' },
  { name: 'the veto is dropped silently behind a pooler', promise: 'P11', file: 'executor/prepare-node.ts', find: `if (options.lockVeto === 'on') throw refused(refusal)`, put: '', tests: ['executor/pooler'] },
  { name: 'every heartbeat sweeps', promise: 'P12', file: 'executor/running-node.ts', find: 'if (beat.orphans > 0 ||', put: 'if (beat.orphans >= 0 ||', tests: ['executor/idle-cost'] },
]
