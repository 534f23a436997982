// T-SQL as this dialect and the core send it, for node:sqlite. Whatever has another shape is an error of the stand-in's, number 102:
// nothing succeeds because it was not understood.
import type { ServerMessage } from './wire-writer.ts'

export class StatementRefused extends Error {
  readonly answer: ServerMessage
  constructor(answer: ServerMessage) {
    super(answer.message)
    this.answer = answer
  }
}

export const incorrectSyntax = (near: string): StatementRefused => new StatementRefused({ number: 102, severity: 15, message: `Incorrect syntax near '${near}'.` })

/** Words that SQLite would take and SQL Server would not, or that need more of SQL Server than is modelled. */
const foreign = /\b(LIMIT|RETURNING|CONFLICT|FOR UPDATE|MERGE|OUTPUT|DUAL|PRAGMA|REPLACE INTO|IFNULL|TOP|NOW\(|IF NOT EXISTS \w+ \()\b|::|"|`|\|\|/i

const hints = / WITH \((NOLOCK|UPDLOCK, ROWLOCK)\)/g

/** A statement that reads a row to keep it: it needs the writer's lock. */
export function locksRows(text: string): boolean { return text.includes(' WITH (UPDLOCK, ROWLOCK)') }

export function translate(text: string): string {
  const word = foreign.exec(text)?.[0]
  if (word !== undefined) throw incorrectSyntax(word)
  return text
    .replaceAll(hints, '')
    .replaceAll("DATEDIFF_BIG(MILLISECOND, '19700101', SYSUTCDATETIME())", "CAST(unixepoch('subsec') * 1000 AS INTEGER)") // SQLite's own reading: tests put the process's Date wrong
    .replaceAll(/(?<= ORDER BY [^()]*) OFFSET 0 ROWS FETCH NEXT (\d+) ROWS ONLY(?=\)|$)/g, ' LIMIT $1')
    .replaceAll(/\bN'/g, "'")
    .replaceAll(/@@(SPID|TRANCOUNT|VERSION)\b/g, (_match, name: string) => `at_${name.toLowerCase()}()`)
    .replaceAll(/CONVERT\(varbinary\(128\), (@p\d+), 2\)/g, 'lower($1)')
    .replaceAll(/\bsys\.(\w+)/g, 'sys_$1')
}

/**
 * Columns as SQL Server has them. Text under Latin1_General_BIN2 is compared by code point but for trailing spaces (SQLite calls that
 * RTRIM), without a collation like the server's default: case does not count either. Too long a text is refused, error 2628.
 */
export function translateTable(body: string): string {
  return body
    .replaceAll(/(\w+) (?:n?varchar)\((\d+)\)( COLLATE Latin1_General_BIN2)?( NOT NULL)?/g, (_match, column: string, length: string, binary: string | undefined, required: string | undefined) =>
      `${column} TEXT COLLATE ${binary === undefined ? 'NOCASE' : 'RTRIM'}${required ?? ''} CHECK (${column} IS NULL OR code_units(${column}) <= ${length})`)
    .replaceAll(/(\w+) nvarchar\(max\)( COLLATE Latin1_General_BIN2)?/g, (_match, column: string, binary: string | undefined) => `${column} TEXT COLLATE ${binary === undefined ? 'NOCASE' : 'RTRIM'}`)
    .replaceAll(/\bbigint\b/g, 'INTEGER')
}

export type Step =
  | { readonly kind: 'set'; readonly name: string; readonly value: string }
  | { readonly kind: 'query'; readonly text: string }
  | { readonly kind: 'create-table'; readonly table: string; readonly body: string }
  | { readonly kind: 'create-index'; readonly index: string; readonly table: string; readonly text: string }
  | { readonly kind: 'drop-table'; readonly table: string; readonly ifExists: boolean }
  | { readonly kind: 'kill'; readonly session: number }
  | { readonly kind: 'slot'; readonly clock: string; readonly guard: string; readonly insert: string }

const slotShape = /^DECLARE @now bigint = (.+), @eligible int = 0, @won int = 0;\s*SELECT @eligible = (COUNT\(\*\) FROM .+);\s*IF @eligible > 0\s+BEGIN TRY\s+(INSERT INTO .+);\s*SET @won = @@ROWCOUNT;\s*END TRY\s+BEGIN CATCH\s+IF ERROR_NUMBER\(\) NOT IN \(2627, 2601\) THROW;\s*END CATCH;\s*SELECT @won AS won, CASE WHEN @eligible > 0 THEN 1 ELSE 0 END AS eligible, @now AS db_now$/s

/** The statements of a batch, each of a shape that is known. */
export function stepsOf(batch: string): readonly Step[] {
  const text = batch.trim().replace(/;$/, '')
  const head = /^SET NOCOUNT OFF; (?=DECLARE )/.exec(text)?.[0] ?? ''
  const slot = slotShape.exec(text.slice(head.length))
  if (slot !== null) {
    const [, clock = '', guard = '', insert = ''] = slot
    return [{ kind: 'slot', clock, guard, insert }]
  }
  // tedious sends its first settings one a line, in lower case.
  const statements = /^set /.test(text) ? text.split('\n') : text.split(';')
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '').map(stepOf)
}

function stepOf(text: string): Step {
  const set = /^SET (TRANSACTION ISOLATION LEVEL|\w+) (.+)$/i.exec(text)
  if (set !== null) return { kind: 'set', name: (set[1] ?? '').toUpperCase(), value: set[2] ?? '' }
  const table = /^IF OBJECT_ID\(N'([^']+)', N'U'\) IS NULL CREATE TABLE (\S+) \((.*)\)$/s.exec(text)
  if (table !== null && table[1] === table[2]) return { kind: 'create-table', table: table[2] ?? '', body: table[3] ?? '' }
  const index = /^IF NOT EXISTS \(SELECT 1 FROM sys\.indexes WHERE object_id = OBJECT_ID\(N'([^']+)', N'U'\) AND name = N'(\w+)'\) (CREATE INDEX \[(\w+)\] ON (\S+) \(.*\))$/.exec(text)
  if (index !== null && index[1] === index[5] && index[2] === index[4]) return { kind: 'create-index', index: index[2] ?? '', table: index[1] ?? '', text: index[3] ?? '' }
  const drop = /^DROP TABLE (IF EXISTS )?(\S+)$/.exec(text)
  if (drop !== null) return { kind: 'drop-table', table: drop[2] ?? '', ifExists: drop[1] !== undefined }
  const kill = /^KILL (\d+)$/.exec(text)
  if (kill !== null) return { kind: 'kill', session: Number(kill[1]) }
  if (/^(SELECT|INSERT INTO|UPDATE|DELETE FROM) /.test(text)) return { kind: 'query', text }
  throw incorrectSyntax(/^\S+/.exec(text)?.[0] ?? '')
}
