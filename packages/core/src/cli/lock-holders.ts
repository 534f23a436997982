import { lockName } from '../spi/lock-name.ts'
import type { LockConnection, LockHolder, LockSource, OpenOptions } from '../spi/lock-source.ts'
import { SchedError } from '../errors.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import { openGuarded } from '../session/reach-database.ts'
import { systemClock } from '../time/clock.ts'

const answerMs = 5_000

/** Asks a dialect's own lock source who holds the locks of tasks, on a connection that the first question opens. */
export class LockHolders {
  readonly #source: LockSource
  readonly #options: Omit<OpenOptions, 'signal'>
  readonly #namespace: string
  readonly #url: string
  #session: Promise<GuardedSession<LockConnection>> | undefined

  constructor(source: LockSource, options: Omit<OpenOptions, 'signal'>, namespace: string, url: string) {
    this.#source = source
    this.#options = options
    this.#namespace = namespace
    this.#url = url
  }

  /** Undefined where the source cannot tell, and where the scheduler takes no lock: leases in a table are the gate once more. */
  get holder(): ((task: string) => Promise<LockHolder | null>) | undefined {
    const { inspection, kind } = this.#source.capabilities
    return inspection && kind !== 'lease' ? (task) => this.#holder(task) : undefined
  }

  async #holder(task: string): Promise<LockHolder | null> {
    const source = this.#source
    this.#session ??= openGuarded('lock', (signal) => source.open('pulse', { ...this.#options, signal }), { clock: systemClock, random: Math.random, deadlineMs: answerMs, classify: (error) => source.classify(error), url: this.#url })
    return (await this.#session).exclusive('inspecting a lock', (connection) => source.strategy.inspect(connection, lockName(this.#namespace, 'task', task)), { deadlineMs: answerMs })
  }

  async close(): Promise<void> {
    // What could not be opened has told its caller.
    (await this.#session?.catch(() => undefined))?.destroy(new SchedError('SCHED_STOPPED', 'the question has been answered.'))
  }
}
