import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import type { CallStandIn, ExpressionStandIn, PlaceStandIn, PlSqlBlockStandIn, PlSqlStatementStandIn } from './plsql-parser-stand-in.ts'

export type PlSqlValueStandIn = string | number | boolean | null

/** What a block may do to its session. */
export interface PlSqlHostStandIn {
  /** Calls a function or procedure; `assign` sets an OUT parameter. */
  call(path: string, argument: (name: string, position?: number) => PlSqlValueStandIn | undefined, assign: (name: string, value: PlSqlValueStandIn) => void): Promise<PlSqlValueStandIn>
  /** Runs SQL with the block's binds; answers its first value and how many rows it changed. */
  sql(text: string): Promise<{ readonly first: string | number | null; readonly affected: number }>
  dynamic(text: string): Promise<void>
}

export class PlSqlInterpreterStandIn {
  readonly #host: PlSqlHostStandIn
  readonly binds: Map<string, PlSqlValueStandIn>
  readonly #variables = new Map<string, PlSqlValueStandIn>()

  constructor(host: PlSqlHostStandIn, binds: Map<string, PlSqlValueStandIn>) {
    this.#host = host
    this.binds = binds
  }

  async run(block: PlSqlBlockStandIn): Promise<void> {
    for (const [name, initial] of block.variables) this.#variables.set(name, initial === undefined ? null : await this.#value(initial))
    try {
      await this.#statements(block.body, block)
    } catch (error) {
      const handler = error instanceof OracleErrorStandIn ? this.#handlerOf(block, error) : undefined
      if (handler === undefined) throw error
      await this.#statements(handler, block)
    }
  }

  #handlerOf(block: PlSqlBlockStandIn, { number }: OracleErrorStandIn): readonly PlSqlStatementStandIn[] | undefined {
    for (const [name, body] of block.handlers) {
      if (name === 'OTHERS') throw new NotModelledError('WHEN OTHERS, which hides everything')
      if (this.#codes.get(name) === -number) return body
    }
    return undefined
  }

  // Exceptions declared by any block around.
  readonly #codes = new Map<string, number>()

  async #statements(statements: readonly PlSqlStatementStandIn[], block: PlSqlBlockStandIn): Promise<void> {
    for (const [name, code] of block.exceptions) this.#codes.set(name, code)
    for (const statement of statements) await this.#statement(statement, block)
  }

  async #statement(statement: PlSqlStatementStandIn, block: PlSqlBlockStandIn): Promise<void> {
    switch (statement.kind) {
      case 'null': return
      case 'assign': this.#assign(statement.place, await this.#value(statement.value)); return
      case 'if': if (await this.#value(statement.condition) === true) await this.#statements(statement.body, block); return
      case 'while': while (await this.#value(statement.condition) === true) await this.#statements(statement.body, block); return
      case 'call': await this.#call(statement.call); return
      case 'sql': this.#variables.set('SQL%ROWCOUNT', (await this.#host.sql(statement.text)).affected); return
      case 'dynamic': await this.#host.dynamic(statement.text); return
      case 'select': this.#assign(statement.place, (await this.#host.sql(statement.text)).first); return
      case 'open': {
        const cursor = block.cursors.get(statement.cursor)
        if (cursor === undefined) throw new NotModelledError(`the cursor ${statement.cursor}`)
        await this.#host.sql(cursor)
        return
      }
      case 'close': return
      case 'block': await this.run(statement.block)
    }
  }

  #assign({ kind, name }: PlaceStandIn, value: PlSqlValueStandIn): void {
    if (kind === 'bind') { this.binds.set(name, value); return }
    if (!this.#variables.has(name)) throw new NotModelledError(`the variable ${name}`)
    this.#variables.set(name, value)
  }

  async #value(expression: ExpressionStandIn): Promise<PlSqlValueStandIn> {
    switch (expression.kind) {
      case 'literal': return expression.value
      case 'bind': return this.binds.get(expression.name) ?? null
      case 'variable': {
        const value = this.#variables.get(expression.name)
        if (value === undefined) throw new NotModelledError(`the variable ${expression.name}`)
        return value
      }
      case 'case': return this.#value(await this.#value(expression.condition) === true ? expression.yes : expression.no)
      case 'binary': return combine(expression.operator, await this.#value(expression.left), await this.#value(expression.right))
      case 'call': return this.#call(expression)
    }
  }

  async #call({ path, positional, named }: CallStandIn): Promise<PlSqlValueStandIn> {
    const positions: PlSqlValueStandIn[] = []
    for (const argument of positional) positions.push(await this.#value(argument))
    const names = new Map<string, PlSqlValueStandIn>()
    for (const [name, argument] of named) names.set(name, await this.#value(argument))
    return this.#host.call(path, (name, position) => (names.has(name) ? names.get(name) : position === undefined ? undefined : positions[position]), (name, value) => {
      const place = named.get(name)
      if (place?.kind !== 'bind' && place?.kind !== 'variable') throw new NotModelledError(`the OUT parameter ${name} of ${path}`)
      this.#assign(place, value)
    })
  }
}

/** NULL makes every comparison NULL, which is not TRUE; joined to text it is nothing. */
function combine(operator: string, left: PlSqlValueStandIn, right: PlSqlValueStandIn): PlSqlValueStandIn {
  if (operator === '||') return `${String(left ?? '')}${String(right ?? '')}`
  if (operator === 'AND') return left === true && right === true
  if (left === null || right === null) return null
  switch (operator) {
    case '=': return left === right
    case '<>': return left !== right
    case '<': return left < right
    case '>': return left > right
    case '<=': return left <= right
    case '>=': return left >= right
    case '+': return Number(left) + Number(right)
    case '-': return Number(left) - Number(right)
    case '*': return Number(left) * Number(right)
    case '/': return Number(left) / Number(right)
    default: throw new NotModelledError(`the operator ${operator}`)
  }
}
