import type { Socket } from 'node:net'
import { getApplock, releaseApplock, type ProcedureContext } from './applock-procedures.ts'
import { answerLogin } from './login-answer.ts'
import { sessionFunctions, systemViews } from './server-views.ts'
import { SqlEngine } from './sql-engine.ts'
import { StatementAnswers } from './statement-answers.ts'
import type { TdsServerStandIn } from './tds-server-stand-in.ts'
import { MessageReader, packetTypes, readBatch, readLogin, readRpc, readTransaction, type Login, type Message, type RpcRequest } from './wire-reader.ts'
import {
  doneFlags, doneProcToken, doneToken, environment, errorToken, infoToken, packets, preloginAnswer, returnStatusToken, type ServerMessage,
} from './wire-writer.ts'

/** One connection: login, then one request at a time. */
export class StandInSession {
  readonly id: number
  login: Login | undefined
  readonly #server: TdsServerStandIn
  readonly #socket: Socket
  readonly #reader = new MessageReader()
  #engine: SqlEngine | undefined
  #statements: StatementAnswers | undefined
  /** Of the open transaction, as ENVCHANGE names it. */
  descriptor: Buffer = Buffer.alloc(8)
  #queue: Promise<void> = Promise.resolve()
  #current: AbortController | undefined
  #ended = false

  constructor(server: TdsServerStandIn, socket: Socket, id: number) {
    this.#server = server
    this.#socket = socket
    this.id = id
    socket.on('data', (chunk: Buffer) => { for (const message of this.#reader.read(chunk)) this.#receive(message) })
    socket.on('close', () => { this.end() })
    socket.on('error', () => { this.end() })
  }

  get seesServer(): boolean { return this.login !== undefined && this.#server.options.accounts[this.login.user]?.seesServer === true }

  get contextInfo(): string { return this.#statements?.contextInfo ?? '' }

  get inTransaction(): boolean { return this.#engine?.inTransaction ?? false }

  /** Ends the session and all that is its. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#current?.abort()
    this.#socket.destroy()
    this.#server.applocks.endOf(this.id)
    if (this.#engine?.inTransaction === true) this.#engine.rollback()
    // What runs has been cancelled, and may look once more.
    void this.#queue.then(() => { this.#engine?.close() })
    this.#server.ended(this)
  }

  #receive(message: Message): void {
    if (message.type === packetTypes.attention) {
      if (this.#server.faults.ignoresAttention) return
      // What it works on is broken off first, 2.2.1.7.
      if (this.#current === undefined) this.#send(doneToken(doneFlags.attention))
      else this.#current.abort()
      return
    }
    const current = new AbortController()
    this.#current = current
    this.#queue = this.#queue.then(() => this.#answer(message, current)).catch((error: unknown) => {
      if (!current.signal.aborted) this.#server.report(error)
      this.#reply(current, [errorToken({ number: 50_000, severity: 16, message: String(error) }), doneToken(doneFlags.error)])
    })
  }

  async #answer(message: Message, current: AbortController): Promise<void> {
    if (message.type === packetTypes.prelogin) { this.#reply(current, [preloginAnswer()]); return }
    if (message.type === packetTypes.login) { this.#logIn(message, current); return }
    if (this.login === undefined) { this.end(); return }
    switch (message.type) {
      case packetTypes.batch: this.#reply(current, await this.#statements!.answer(readBatch(message.body), {}, 'batch', current.signal)); return
      case packetTypes.transaction: this.#reply(current, this.#transaction(message)); return
      case packetTypes.rpc: this.#reply(current, await this.#procedure(readRpc(message.body), current.signal)); return
      default: throw new Error(`packets of type 0x${message.type.toString(16)} are not modelled`)
    }
  }

  #logIn(message: Message, current: AbortController): void {
    const login = readLogin(message.body)
    const { accepted, tokens } = answerLogin(login, this.#server)
    this.#reply(current, tokens)
    if (!accepted || this.#server.faults.dropsAfterLogin) { this.#socket.end(); return }
    this.login = login
    this.#engine = new SqlEngine(this.#server.file, sessionFunctions(this.#server, this), systemViews(this.#server, this))
    this.#statements = new StatementAnswers(this.#server, this, this.#engine)
  }

  #reply(current: AbortController, tokens: readonly Buffer[]): void {
    if (this.#current === current) this.#current = undefined
    if (!current.signal.aborted) { this.#send(Buffer.concat(tokens)); return }
    // The answer that was broken off, and the acknowledgement, are two messages: tedious reads one after the other.
    this.#send(doneToken(doneFlags.error))
    this.#send(doneToken(doneFlags.attention))
  }

  #send(body: Buffer): void {
    if (!this.#ended) this.#socket.write(packets(body, this.id))
  }

  #transaction(message: Message): readonly Buffer[] {
    const { kind } = readTransaction(message.body)
    const engine = this.#engine!
    if (kind === 'commit' && this.#dropped('commit', 'request')) return []
    if (kind !== 'begin' && !engine.inTransaction) {
      const number = kind === 'commit' ? 3902 : 3903
      return [errorToken({ number, severity: 16, message: `The ${kind.toUpperCase()} TRANSACTION request has no corresponding BEGIN TRANSACTION.` }), doneToken(doneFlags.error)]
    }
    if (kind === 'begin') {
      engine.begin()
      this.descriptor = this.#server.nextDescriptor()
      return [environment.began(this.descriptor), doneToken(0)]
    }
    if (kind === 'commit') engine.commit()
    else engine.rollback()
    this.#server.applocks.endOf(this.id, 'Transaction')
    if (kind === 'commit' && this.#dropped('commit', 'answer')) return []
    return [kind === 'commit' ? environment.committed(this.descriptor) : environment.rolledBack(this.descriptor), doneToken(0)]
  }

  async #procedure(request: RpcRequest, cancelled: AbortSignal): Promise<readonly Buffer[]> {
    switch (request.procedure.toLowerCase().replace(/^(sys|dbo)\./, '')) {
      case 'sp_executesql': {
        if (this.#dropped('statement', 'request')) return []
        const [statement, , ...values] = request.parameters
        const parameters = Object.fromEntries(values.map(({ name, value }) => [name.slice(1), value]))
        const tokens = await this.#statements!.answer(String(statement?.value), parameters, 'procedure', cancelled)
        return this.#dropped('statement', 'answer') ? [] : tokens
      }
      case 'sp_getapplock': return this.#getApplock(request, cancelled)
      case 'sp_releaseapplock': return this.#procedureAnswer(releaseApplock(request, this.#context(cancelled)))
      default: return [errorToken({ number: 2812, severity: 16, message: `Could not find stored procedure '${request.procedure}'.` }), doneProcToken(doneFlags.error)]
    }
  }

  async #getApplock(request: RpcRequest, cancelled: AbortSignal): Promise<readonly Buffer[]> {
    const { faults } = this.#server
    const forced = faults.getapplock.shift()
    if (forced === 'none') return [doneProcToken(0)]
    if (forced !== undefined) return this.#procedureAnswer({ status: forced })
    if (this.#dropped('getapplock', 'request')) return []
    // Measured: a peer does not look for an attention while it waits.
    const result = await getApplock(request, this.#context(this.#server.options.kind === 'sql-server' ? cancelled : new AbortController().signal))
    // A peer's waiter whose client has gone is granted the lock all the same, and then ends: measured.
    if (this.#ended) this.#server.applocks.endOf(this.id)
    if (this.#dropped('getapplock', 'answer')) return []
    if (faults.grantCrossesAttention && result.status >= 0) {
      faults.grantCrossesAttention = false
      await new Promise((resolve) => { cancelled.addEventListener('abort', resolve) })
    }
    return this.#procedureAnswer(result)
  }

  #procedureAnswer({ status, error, info }: { status: number; error?: ServerMessage; info?: ServerMessage }): readonly Buffer[] {
    return [
      ...(error === undefined ? [] : [errorToken(error)]), ...(info === undefined ? [] : [infoToken(info)]),
      returnStatusToken(status), doneProcToken(error === undefined ? 0 : doneFlags.error),
    ]
  }

  #context(cancelled: AbortSignal): ProcedureContext {
    const { applocks, options } = this.#server
    return { applocks, cancelled, kind: options.kind, database: options.database, session: this.id, inTransaction: this.inTransaction, lockTimeoutMs: this.#engine!.lockTimeoutMs }
  }

  #dropped(request: 'commit' | 'statement' | 'getapplock', at: 'request' | 'answer'): boolean {
    const index = this.#server.faults.drop.findIndex((fault) => fault.request === request && fault.at === at)
    if (index < 0) return false
    this.#server.faults.drop.splice(index, 1)
    this.end()
    return true
  }
}
