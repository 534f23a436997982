/** The statements of the execution protocol that a fault may be hung on: `slot` is N there, `start gate` and `start` S, `gate` and `finish` F, `heartbeat` and `look around` H, `dead` and `recover` W. */
export type StatementName =
  | 'slot' | 'trigger' | 'missed' | 'start gate' | 'start' | 'gate' | 'finish' | 'recover' | 'skip' | 'read back' | 'register' | 'heartbeat' | 'look around' | 'dead' | 'retire' | 'due'

/** How each is recognised in its text. */
const patterns: Readonly<Record<StatementName, RegExp>> = {
  'slot': /^INSERT INTO \S+executions\W[^]*'pending', 'scheduled'/,
  'trigger': /^INSERT INTO \S+executions\W[^]*'pending', 'manual'/,
  'missed': /^(INSERT INTO \S+executions\W[^]*('missed', 'scheduled'|'pending', 'catchup')|UPDATE \S+executions\W SET (state = 'missed'|origin = 'catchup'))/,
  'start gate': /^UPDATE \S+tasks\W[^]*fencing_token = CASE/,
  'start': /^UPDATE \S+executions\W SET state = 'running'/,
  'gate': /^UPDATE \S+tasks\W SET gate_owner = NULL/,
  'finish': /^UPDATE \S+executions\W SET state = [^,]+, finished_at[^]*AND fencing_token = \?/,
  'recover': /^UPDATE \S+executions\W[^]*attempt_reason = CASE [^]*'recovered'/,
  'skip': /^UPDATE \S+executions\W SET state = 'skipped'/,
  'read back': /^UPDATE \S+executions\W SET due_at = due_at/,
  'register': /^INSERT INTO \S+nodes\W/,
  'heartbeat': /^UPDATE \S+nodes\W SET lease_until/,
  'look around': /^SELECT [^]* AS orphaned_rows/,
  'dead': /^UPDATE \S+nodes\W SET state = 'dead'[^]*lease_until <= /,
  'retire': /^UPDATE \S+nodes\W SET state = 'dead'(?![^]*lease_until)/,
  'due': /^SELECT [^]*\WFROM \S+executions\W[^]*state IN \('pending', 'retry'\) AND \S*due_at <= [^]*(GROUP BY e\.task_name|ORDER BY fire_time)/,
}

export const statementNames: readonly StatementName[] = Object.keys(patterns) as StatementName[]

const known = new Map<string, StatementName | undefined>()
const mostKnown = 500

/** Undefined for a statement that is none of the protocol's. */
export function nameOfStatement(text: string): StatementName | undefined {
  if (known.has(text)) return known.get(text)
  if (known.size >= mostKnown) known.clear()
  const name = statementNames.find((candidate) => patterns[candidate].test(text))
  known.set(text, name)
  return name
}
