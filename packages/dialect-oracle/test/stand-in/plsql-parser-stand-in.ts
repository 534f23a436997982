import { NotModelledError } from './oracle-error-stand-in.ts'

// The part of PL/SQL that this package writes, as a tree. Anything else is an error of the stand-in.
// https://docs.oracle.com/en/database/oracle/oracle-database/23/lnpls/

export type ExpressionStandIn =
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
  | { readonly kind: 'bind' | 'variable'; readonly name: string }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: ExpressionStandIn; readonly right: ExpressionStandIn }
  | { readonly kind: 'case'; readonly condition: ExpressionStandIn; readonly yes: ExpressionStandIn; readonly no: ExpressionStandIn }
  | CallStandIn

export interface CallStandIn {
  readonly kind: 'call'
  /** In capitals: `SYS.DBMS_LOCK.REQUEST`. */
  readonly path: string
  readonly positional: readonly ExpressionStandIn[]
  readonly named: ReadonlyMap<string, ExpressionStandIn>
}

export type PlaceStandIn = { readonly kind: 'bind' | 'variable'; readonly name: string }

export type PlSqlStatementStandIn =
  | { readonly kind: 'null' }
  | { readonly kind: 'assign'; readonly place: PlaceStandIn; readonly value: ExpressionStandIn }
  | { readonly kind: 'if' | 'while'; readonly condition: ExpressionStandIn; readonly body: readonly PlSqlStatementStandIn[] }
  | { readonly kind: 'call'; readonly call: CallStandIn }
  | { readonly kind: 'sql' | 'dynamic'; readonly text: string }
  | { readonly kind: 'select'; readonly text: string; readonly place: PlaceStandIn }
  | { readonly kind: 'open' | 'close'; readonly cursor: string }
  | { readonly kind: 'block'; readonly block: PlSqlBlockStandIn }

export interface PlSqlBlockStandIn {
  readonly variables: ReadonlyMap<string, ExpressionStandIn | undefined>
  readonly cursors: ReadonlyMap<string, string>
  readonly exceptions: ReadonlyMap<string, number>
  readonly body: readonly PlSqlStatementStandIn[]
  readonly handlers: ReadonlyMap<string, readonly PlSqlStatementStandIn[]>
}

interface Token { readonly text: string; readonly start: number; readonly end: number }

/** `call` is told each name that is called, so that what may not be seen does not compile. */
export function parsePlSqlStandIn(source: string, called: (path: string) => void): PlSqlBlockStandIn {
  const parser = new Parser(source, called)
  const block = parser.block()
  parser.expect(';')
  parser.expectEnd()
  return block
}

class Parser {
  readonly #source: string
  readonly #tokens: Token[]
  readonly #called: (path: string) => void
  #at = 0

  constructor(source: string, called: (path: string) => void) {
    this.#source = source
    this.#called = called
    this.#tokens = [...source.matchAll(/'(?:[^']|'')*'|"[^"]*"|:\w+|[A-Za-z_][\w$#]*|\d+|:=|=>|\|\||<>|<=|>=|[^\s]/g)]
      .map(({ 0: text, index }) => ({ text, start: index, end: index + text.length }))
  }

  block(): PlSqlBlockStandIn {
    const variables = new Map<string, ExpressionStandIn | undefined>()
    const cursors = new Map<string, string>()
    const exceptions = new Map<string, number>()
    if (this.#take('DECLARE')) while (!this.#is('BEGIN')) this.#declaration(variables, cursors, exceptions)
    this.expect('BEGIN')
    const body = this.#statements('EXCEPTION', 'END')
    const handlers = new Map<string, readonly PlSqlStatementStandIn[]>()
    if (this.#take('EXCEPTION')) {
      while (this.#take('WHEN')) {
        const name = this.#next().toUpperCase()
        this.expect('THEN')
        handlers.set(name, this.#statements('WHEN', 'END'))
      }
    }
    this.expect('END')
    return { variables, cursors, exceptions, body, handlers }
  }

  expect(text: string): void {
    if (!this.#take(text)) this.#fail(`expected ${text}`)
  }

  expectEnd(): void { if (this.#at < this.#tokens.length) this.#fail('expected the end') }

  #declaration(variables: Map<string, ExpressionStandIn | undefined>, cursors: Map<string, string>, exceptions: Map<string, number>): void {
    if (this.#take('CURSOR')) {
      const name = this.#next().toUpperCase()
      this.expect('IS')
      cursors.set(name, this.#rawStatement())
      return
    }
    if (this.#take('PRAGMA')) {
      const [, name, code] = /^EXCEPTION_INIT\((\w+), (-\d+)\)$/.exec(this.#rawStatement()) ?? this.#fail('the pragma')
      exceptions.set(String(name).toUpperCase(), Number(code))
      return
    }
    const name = this.#next().toUpperCase()
    const type = this.#next().toUpperCase()
    if (type === 'VARCHAR2') { this.expect('('); this.#next(); this.expect(')') }
    else if (type === 'EXCEPTION') { this.expect(';'); return }
    else if (type !== 'INTEGER' && type !== 'NUMBER') this.#fail(`the type ${type}`)
    variables.set(name, this.#take(':=') ? this.#expression() : undefined)
    this.expect(';')
  }

  #statements(...ends: string[]): PlSqlStatementStandIn[] {
    const statements: PlSqlStatementStandIn[] = []
    while (!ends.some((end) => this.#is(end))) statements.push(this.#statement())
    return statements
  }

  #statement(): PlSqlStatementStandIn {
    if (this.#is('DECLARE') || this.#is('BEGIN')) return this.#ended({ kind: 'block', block: this.block() })
    if (this.#take('NULL')) return this.#ended({ kind: 'null' })
    if (this.#take('IF')) return this.#guarded('if', 'THEN', 'IF')
    if (this.#take('WHILE')) return this.#guarded('while', 'LOOP', 'LOOP')
    if (this.#take('OPEN')) return this.#ended({ kind: 'open', cursor: this.#next().toUpperCase() })
    if (this.#take('CLOSE')) return this.#ended({ kind: 'close', cursor: this.#next().toUpperCase() })
    if (this.#is('UPDATE') || this.#is('DELETE')) return { kind: 'sql', text: this.#rawStatement() }
    if (this.#take('EXECUTE')) {
      this.expect('IMMEDIATE')
      return this.#ended({ kind: 'dynamic', text: this.#string(this.#next()) })
    }
    if (this.#is('SELECT')) {
      const raw = this.#rawStatement()
      const [, list = '', name = '', rest = ''] = /^([\s\S]*) INTO :(\w+)( FROM [\s\S]*)$/.exec(raw) ?? this.#fail('SELECT without INTO')
      return { kind: 'select', text: list + rest, place: { kind: 'bind', name } }
    }
    return this.#assignmentOrCall()
  }

  #assignmentOrCall(): PlSqlStatementStandIn {
    const target = this.#primary()
    if (target.kind === 'call') return this.#ended({ kind: 'call', call: target })
    if (target.kind !== 'bind' && target.kind !== 'variable') return this.#fail('a statement')
    this.expect(':=')
    return this.#ended({ kind: 'assign', place: target, value: this.#expression() })
  }

  #guarded(kind: 'if' | 'while', begin: string, end: string): PlSqlStatementStandIn {
    const condition = this.#expression()
    this.expect(begin)
    const body = this.#statements('END')
    this.expect('END')
    this.expect(end)
    return this.#ended({ kind, condition, body })
  }

  #ended(statement: PlSqlStatementStandIn): PlSqlStatementStandIn {
    this.expect(';')
    return statement
  }

  #expression(): ExpressionStandIn { return this.#binary(['AND'], () => this.#binary(['=', '<>', '<', '>', '<=', '>='], () => this.#binary(['||', '+', '-'], () => this.#binary(['*', '/'], () => this.#primary())))) }

  #binary(operators: readonly string[], operand: () => ExpressionStandIn): ExpressionStandIn {
    let left = operand()
    for (let operator = operators.find((text) => this.#take(text)); operator !== undefined; operator = operators.find((text) => this.#take(text))) {
      left = { kind: 'binary', operator, left, right: operand() }
    }
    return left
  }

  #primary(): ExpressionStandIn {
    const token = this.#next()
    if (token.startsWith("'")) return { kind: 'literal', value: this.#string(token) }
    if (token.startsWith(':') && token.length > 1) return { kind: 'bind', name: token.slice(1) }
    if (/^\d+$/.test(token)) return { kind: 'literal', value: Number(token) }
    if (token === '-') { const value = this.#next(); return { kind: 'literal', value: -Number(value) } }
    if (token === '(') { const inner = this.#expression(); this.expect(')'); return inner }
    if (!/^[A-Za-z_]/.test(token)) return this.#fail('an expression')
    const word = token.toUpperCase()
    if (word === 'NULL' || word === 'TRUE' || word === 'FALSE') return { kind: 'literal', value: word === 'NULL' ? null : word === 'TRUE' }
    if (word === 'CASE') return this.#case()
    let path = word
    while (this.#take('.')) path += `.${this.#next().toUpperCase()}`
    if (this.#take('%')) return { kind: 'variable', name: `${path}%${this.#next().toUpperCase()}` }
    if (!path.includes('.') && !this.#is('(')) return { kind: 'variable', name: path }
    return this.#call(path)
  }

  #case(): ExpressionStandIn {
    this.expect('WHEN')
    const condition = this.#expression()
    this.expect('THEN')
    const yes = this.#expression()
    this.expect('ELSE')
    const no = this.#expression()
    this.expect('END')
    return { kind: 'case', condition, yes, no }
  }

  #call(path: string): CallStandIn {
    this.#called(path)
    const positional: ExpressionStandIn[] = []
    const named = new Map<string, ExpressionStandIn>()
    if (this.#take('(')) {
      do {
        const name = this.#tokens[this.#at + 1]?.text === '=>' ? this.#next().toUpperCase() : undefined
        if (name === undefined) positional.push(this.#expression())
        else { this.expect('=>'); named.set(name, this.#expression()) }
      } while (this.#take(','))
      this.expect(')')
    }
    return { kind: 'call', path, positional, named }
  }

  #rawStatement(): string {
    const from = this.#at
    while (this.#at < this.#tokens.length && !this.#is(';')) this.#at += 1
    const [first, last] = [this.#tokens[from], this.#tokens[this.#at - 1]]
    if (first === undefined || last === undefined) this.#fail('a statement')
    this.expect(';')
    return this.#source.slice(first?.start, last?.end)
  }

  #string(token: string): string {
    if (!token.startsWith("'")) this.#fail('a literal')
    return token.slice(1, -1).replaceAll("''", "'")
  }

  #is(text: string): boolean { return this.#tokens[this.#at]?.text.toUpperCase() === text }

  #take(text: string): boolean {
    if (!this.#is(text)) return false
    this.#at += 1
    return true
  }

  #next(): string {
    const token = this.#tokens[this.#at++]
    return token === undefined ? this.#fail('more') : token.text
  }

  #fail(what: string): never {
    const token = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)]
    throw new NotModelledError(`this PL/SQL (${what}, at "${this.#source.slice(Math.max(0, (token?.start ?? 0) - 20), (token?.end ?? 0) + 20)}")`)
  }
}
