import type { SQLInputValue } from 'node:sqlite'
import type { Appointment, Timeline } from '../time/timeline.ts'
import { MemoryDatabaseError } from './memory-error.ts'
import type { SessionLocks } from './session-locks.ts'
import type { RawResult, SharedTables } from './shared-tables.ts'

export interface SessionLimits {
  /** An idle session with an open transaction is ended after this long. */
  readonly idleInTransactionMs: number
  /** An idle session without one; undefined: never. */
  readonly idleMs: number | undefined
}

/** What a session needs of its server. */
interface Server { readonly timeline: Timeline; readonly tables: SharedTables; readonly locks: SessionLocks; readonly nowMs: number }

/** One session as the server has it: its transaction, its locks, and the limits after which an idle one is thrown out. */
export class ServerSession {
  readonly id: number
  readonly label: string
  readonly #server: Server
  readonly #limits: SessionLimits
  readonly #endings: ((why: string) => void)[] = []
  #ended: string | undefined
  #inTransaction = false
  #lastActive: number
  #watch: Appointment | undefined
  #watchedUntil = Infinity

  constructor(server: Server, id: number, label: string, limits: SessionLimits) {
    this.#server = server
    this.id = id
    this.label = label
    this.#limits = limits
    this.#lastActive = server.timeline.nowMs
    this.#watchIdle()
  }

  /** Why it has ended, or undefined. */
  get ended(): string | undefined { return this.#ended }

  get inTransaction(): boolean { return this.#inTransaction }

  get server(): Pick<Server, 'locks' | 'nowMs'> { return this.#server }

  /** Calls back once, when it ends for whatever reason. */
  onEnd(callback: (why: string) => void): void { this.#endings.push(callback) }

  begin(): void {
    this.#touch()
    this.#server.tables.begin(this)
    this.#inTransaction = true
    this.#watchIdle()
  }

  run(text: string, values: readonly SQLInputValue[]): RawResult {
    this.#touch()
    return this.#server.tables.run(this, text, values)
  }

  commit(): void {
    this.#touch()
    this.#inTransaction = false
    this.#server.tables.commit(this)
    this.#watchIdle()
  }

  rollback(): void {
    this.#touch()
    this.#inTransaction = false
    this.#server.tables.rollback(this)
    this.#watchIdle()
  }

  ping(): void { this.#touch() }

  /** Idempotent. */
  end(why: string): void {
    if (this.#ended !== undefined) return
    this.#ended = why
    this.#watch?.cancel()
    for (const callback of this.#endings) callback(why)
  }

  /** @throws MemoryDatabaseError connection-lost */
  #touch(): void {
    if (this.#ended !== undefined) throw new MemoryDatabaseError('connection-lost', this.#ended)
    this.#lastActive = this.#server.timeline.nowMs
  }

  get #limitMs(): number | undefined { return this.#inTransaction ? this.#limits.idleInTransactionMs : this.#limits.idleMs }

  /** One appointment, kept as long as it is early enough; when it comes, the session may have been active since. */
  #watchIdle(): void {
    const limitMs = this.#limitMs
    if (limitMs === undefined || !Number.isFinite(limitMs)) {
      this.#watch?.cancel()
      this.#watchedUntil = Infinity
      return
    }
    const until = this.#lastActive + limitMs
    if (this.#watchedUntil <= until) return
    this.#watch?.cancel()
    this.#watchedUntil = until
    this.#watch = this.#server.timeline.at(until, () => {
      this.#watchedUntil = Infinity
      const limit = this.#limitMs
      if (limit !== undefined && this.#server.timeline.nowMs >= this.#lastActive + limit) this.end(this.#inTransaction ? `idle in a transaction for ${limit} ms` : `idle for ${limit} ms`)
      else this.#watchIdle()
    })
  }
}
