import type { SQLInputValue } from 'node:sqlite'
import type { Timeline } from '../time/timeline.ts'
import { MemoryDatabaseError } from './memory-error.ts'
import { ServerSession, type SessionLimits } from './server-session.ts'
import { SessionLocks } from './session-locks.ts'
import { SharedTables, type RawResult } from './shared-tables.ts'

/** A database server in memory: tables, locks, sessions and a clock of its own. */
export class MemoryServer {
  readonly timeline: Timeline
  readonly tables: SharedTables
  readonly locks: SessionLocks = new SessionLocks()
  readonly #worldMs: () => number
  readonly #sessions = new Set<ServerSession>()
  #aheadMs: number
  #down = false
  #lastId = 0

  /** @param aheadMs how far the server's clock is ahead of the world's time */
  constructor(timeline: Timeline, worldMs: () => number, aheadMs: number) {
    this.timeline = timeline
    this.#worldMs = worldMs
    this.#aheadMs = aheadMs
    this.tables = new SharedTables({ databaseMs: () => this.nowMs, worldMs })
  }

  /** The server's clock: epoch milliseconds, whole. */
  get nowMs(): number { return Math.floor(this.#worldMs() + this.#aheadMs) }

  get aheadMs(): number { return this.#aheadMs }

  get down(): boolean { return this.#down }

  get sessions(): readonly ServerSession[] { return [...this.#sessions] }

  /** The server's clock steps, forward or back. */
  jumpClock(ms: number): void { this.#aheadMs += ms }

  /** @throws MemoryDatabaseError connection-lost while it is down */
  connect(label: string, limits: SessionLimits): ServerSession {
    if (this.#down) throw new MemoryDatabaseError('connection-lost', 'the database is down')
    const session = new ServerSession(this, this.#lastId += 1, label, limits)
    this.#sessions.add(session)
    session.onEnd(() => {
      this.#sessions.delete(session)
      this.tables.rollback(session)
      this.locks.endOf(session.id)
    })
    return session
  }

  /** Every session ends, open transactions are rolled back, nobody gets in. What was committed stays. */
  stop(): void {
    this.#down = true
    for (const session of this.sessions) session.end('the database went down')
  }

  restart(): void { this.#down = false }

  /** A statement of nobody's session: for tests that look in or set up. */
  query(text: string, values: readonly SQLInputValue[]): RawResult { return this.tables.run(this, text, values) }
}
