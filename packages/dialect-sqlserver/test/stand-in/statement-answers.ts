import type { SqlEngine, Parameters, StepAnswer } from './sql-engine.ts'
import { StatementRefused, stepsOf, type Step } from './sql-translation.ts'
import { peerNumber } from './stand-in-options.ts'
import type { StandInSession } from './stand-in-session.ts'
import type { TdsServerStandIn } from './tds-server-stand-in.ts'
import { doneFlags, doneInProcToken, doneProcToken, doneToken, environment, errorToken, resultTokens, returnStatusToken, type ServerMessage } from './wire-writer.ts'

const knownSettings = new Set([
  'ANSI_NULLS', 'ANSI_NULL_DFLT_ON', 'ANSI_PADDING', 'ANSI_WARNINGS', 'ARITHABORT', 'CONCAT_NULL_YIELDS_NULL', 'QUOTED_IDENTIFIER', 'NUMERIC_ROUNDABORT', 'IMPLICIT_TRANSACTIONS',
  'DATEFIRST', 'DATEFORMAT', 'LANGUAGE', 'TEXTSIZE', 'ROWCOUNT', 'TRANSACTION ISOLATION LEVEL', 'NOCOUNT', 'XACT_ABORT', 'LOCK_TIMEOUT', 'CONTEXT_INFO',
])

/** What a session answers to statements, and what they SET on it. */
export class StatementAnswers {
  contextInfo = ''
  readonly #settings = new Map<string, string>()
  readonly #server: TdsServerStandIn
  readonly #session: StandInSession
  readonly #engine: SqlEngine

  constructor(server: TdsServerStandIn, session: StandInSession, engine: SqlEngine) {
    this.#server = server
    this.#session = session
    this.#engine = engine
  }

  /** The tokens of some statements. What a procedure SETs is undone when it ends. */
  async answer(text: string, parameters: Parameters, where: 'batch' | 'procedure', cancelled: AbortSignal): Promise<readonly Buffer[]> {
    const tokens: Buffer[] = []
    const before = new Map(this.#settings)
    const done = where === 'batch' ? doneToken : doneInProcToken
    try {
      const refused = where === 'procedure' ? this.#server.faults.statement.shift() : undefined
      if (refused !== undefined) throw new StatementRefused(refused)
      for (const step of stepsOf(text)) {
        const { columns, rows = [], count } = await this.#step(step, parameters, cancelled)
        if (columns !== undefined) tokens.push(resultTokens(columns, rows))
        const counted = count !== undefined && this.#settings.get('NOCOUNT') !== 'ON'
        tokens.push(done(doneFlags.more | (counted ? doneFlags.count : 0), counted ? count : 0))
      }
    } catch (error) {
      if (!(error instanceof StatementRefused)) throw error
      tokens.push(...this.#refusal(error.answer))
      return [...tokens, where === 'batch' ? doneToken(doneFlags.error) : doneProcToken(doneFlags.error)]
    } finally {
      if (where === 'procedure') {
        this.#settings.clear()
        for (const [name, value] of before) this.#settings.set(name, value)
      }
    }
    return where === 'batch' ? [...tokens, doneToken(0)] : [...tokens, returnStatusToken(0), doneProcToken(0)]
  }

  /** An error, and what XACT_ABORT makes of it: https://learn.microsoft.com/sql/t-sql/statements/set-xact-abort-transact-sql */
  #refusal(answer: ServerMessage): readonly Buffer[] {
    const tokens = [errorToken(this.#asPeer(answer))]
    if (this.#engine.inTransaction && (this.#settings.get('XACT_ABORT') === 'ON' || answer.number === 1205)) {
      this.#engine.rollback()
      this.#server.applocks.endOf(this.#session.id, 'Transaction')
      tokens.push(environment.rolledBack(this.#session.descriptor))
    }
    return tokens
  }

  async #step(step: Step, parameters: Parameters, cancelled: AbortSignal): Promise<StepAnswer> {
    if (step.kind === 'set') return this.#set(step.name, step.value)
    if (step.kind === 'kill') return this.#server.kill(this.#session, step.session)
    if (step.kind === 'query' && step.text.includes('sys.dm_tran_locks')) this.#refuseUnseen()
    return this.#engine.run(step, parameters, cancelled)
  }

  #set(name: string, value: string): StepAnswer {
    if (!knownSettings.has(name)) throw new StatementRefused({ number: 195, severity: 15, message: `'${name}' is not a recognized SET option.` })
    this.#settings.set(name, value.toUpperCase())
    if (name === 'LOCK_TIMEOUT') this.#engine.lockTimeoutMs = Number(value)
    if (name === 'CONTEXT_INFO') this.contextInfo = value.slice(2).toLowerCase()
    return {}
  }

  #refuseUnseen(): void {
    if (this.#server.options.kind !== 'sql-server') throw new StatementRefused({ number: 208, severity: 16, message: "Invalid object name 'sys.dm_tran_locks'." })
    if (!this.#session.seesServer) throw new StatementRefused({ number: 300, severity: 14, message: "VIEW SERVER PERFORMANCE STATE permission was denied on object 'server', database 'master'." })
  }

  /** A peer has one number for all that it cannot map, and PostgreSQL's text. */
  #asPeer(answer: ServerMessage): ServerMessage {
    if (this.#server.options.kind === 'sql-server') return answer
    const name = /'(.*)'/.exec(answer.message)?.[1] ?? ''
    if (answer.number === 208 || answer.number === 3701) return { number: peerNumber, severity: 16, message: `relation "${name.replaceAll(/[[\]]/g, '')}" does not exist` }
    return answer.number === 1222 ? { number: peerNumber, severity: 16, message: 'canceling statement due to lock timeout' } : answer
  }
}
