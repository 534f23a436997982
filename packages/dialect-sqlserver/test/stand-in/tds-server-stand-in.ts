import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApplockModel } from './applock-model.ts'
import type { StepAnswer } from './sql-engine.ts'
import { StatementRefused } from './sql-translation.ts'
import { noFaults, standInOptions, type Faults, type StandInOptions } from './stand-in-options.ts'
import { StandInSession } from './stand-in-session.ts'

/**
 * A stand-in for SQL Server: it speaks TDS 7.4 without encryption, as tedious needs it, and models what is documented of application
 * locks. It is no SQL Server, and nothing that is shown on it has been seen on one.
 */
export class TdsServerStandIn implements AsyncDisposable {
  readonly options: StandInOptions
  readonly applocks: ApplockModel = new ApplockModel()
  readonly faults: Faults = noFaults()
  /** The SQLite file behind ordinary SQL. */
  readonly file: string
  readonly #folder: string
  readonly #server: Server
  readonly #sessions = new Map<number, StandInSession>()
  readonly #sockets = new Set<Socket>()
  readonly #reports: unknown[] = []
  #lastSession = 50 // the first of users is 51
  #lastDescriptor = 0

  private constructor(options: StandInOptions) {
    this.options = options
    this.#folder = mkdtempSync(join(tmpdir(), 'sched-tds-stand-in-'))
    this.file = join(this.#folder, 'stand-in.db')
    this.#server = createServer((socket) => { this.#connected(socket) })
  }

  static async start(options: Partial<StandInOptions> = {}): Promise<TdsServerStandIn> {
    const standIn = new TdsServerStandIn(standInOptions(options))
    await new Promise<void>((resolve) => { standIn.#server.listen(0, '127.0.0.1', resolve) })
    return standIn
  }

  get port(): number { return (this.#server.address() as AddressInfo).port }

  get url(): string { return this.urlOf('sched') }

  urlOf(user: string, { password = this.options.accounts[user]?.password ?? '', database = this.options.database }: { password?: string; database?: string } = {}): string {
    return `sqlserver://${user}:${encodeURIComponent(password)}@127.0.0.1:${this.port}/${database}?encrypt=false`
  }

  sessions(): readonly StandInSession[] { return [...this.#sessions.values()].filter(({ login }) => login !== undefined) }

  /** What the stand-in itself could not do. A test that leaves some has shown nothing. */
  reports(): readonly unknown[] { return this.#reports }

  report(error: unknown): void { this.#reports.push(error) }

  ended(session: StandInSession): void { this.#sessions.delete(session.id) }

  nextDescriptor(): Buffer {
    const descriptor = Buffer.alloc(8)
    descriptor.writeUInt32LE(this.#lastDescriptor += 1)
    return descriptor
  }

  /** https://learn.microsoft.com/sql/t-sql/language-elements/kill-transact-sql */
  kill(asking: StandInSession, id: number): StepAnswer {
    if (!asking.seesServer) throw new StatementRefused({ number: 6102, severity: 14, message: 'User does not have permission to use the KILL statement.' })
    if (asking.id === id) throw new StatementRefused({ number: 6104, severity: 16, message: 'Cannot use KILL to kill your own process.' })
    const victim = this.#sessions.get(id)
    if (victim === undefined) throw new StatementRefused({ number: 6106, severity: 16, message: `Process ID ${id} is not an active process ID.` })
    victim.end()
    return {}
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of [...this.#sessions.values()]) session.end()
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => { this.#server.close(resolve) })
    await new Promise(setImmediate)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => { this.#sockets.delete(socket) })
    socket.setNoDelay(true)
    this.#lastSession += 1
    this.#sessions.set(this.#lastSession, new StandInSession(this, socket, this.#lastSession))
  }
}
