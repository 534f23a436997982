import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import { waitStandIn, wouldDeadlock, type WaiterStandIn } from './waits-stand-in.ts'

// A model of what the manual says of DBMS_LOCK:
// https://docs.oracle.com/en/database/oracle/oracle-database/23/arpls/DBMS_LOCK.html

interface Allocation { readonly id: number; expiresAt: number }

interface HeldLock {
  readonly holder: WaiterStandIn
  readonly releaseOnCommit: boolean
  readonly sinceMs: number
}

interface Queued { readonly session: WaiterStandIn; readonly releaseOnCommit: boolean; grant(): void }

export const statusStandIn = { success: 0, timeout: 1, deadlock: 2, parameterError: 3, own: 4, illegalHandle: 5 } as const

const firstId = 1_073_741_824
const maxWait = 32_767

export class UserLocksStandIn {
  readonly #now: () => number
  readonly #allocated = new Map<string, Allocation>()
  readonly #held = new Map<number, HeldLock>()
  readonly #queues = new Map<number, Queued[]>()
  #nextId = firstId
  /** How often a name was asked for. */
  allocations = 0

  constructor(now: () => number) { this.#now = now }

  /**
   * "associated with the returned lock ID for at least expiration_secs past the last call": here a mapping goes the moment that is
   * over, the worst the manual allows. Names are at most 128 long and must not begin with ORA$.
   */
  allocate(lockName: string, expirationSeconds: number): string {
    if (lockName === '' || lockName.length > 128 || lockName.startsWith('ORA$')) {
      throw new OracleErrorStandIn(20000, `ORU-10003: Unable to find or insert lock ${lockName} into catalog dbms_lock_allocated.`)
    }
    this.allocations += 1
    for (const [name, { expiresAt }] of this.#allocated) if (expiresAt <= this.#now()) this.#allocated.delete(name)
    const known = this.#allocated.get(lockName) ?? { id: this.#nextId++, expiresAt: 0 }
    known.expiresAt = this.#now() + expirationSeconds * 1_000
    this.#allocated.set(lockName, known)
    return `${known.id}${known.id}187`
  }

  /** X mode only. A lock that the session has already is 4, and not counted. Waiters are served in the order of their arrival. */
  async request(session: WaiterStandIn, id: number | undefined, mode: number, timeout: number, releaseOnCommit: boolean): Promise<number> {
    if (id === undefined) return statusStandIn.illegalHandle
    if (mode !== 6) throw new NotModelledError(`lockmode ${mode}`)
    const seconds = Math.round(timeout) // the formal parameter is an INTEGER
    if (seconds < 0 || seconds > maxWait) return statusStandIn.parameterError
    const held = this.#held.get(id)
    if (held === undefined) {
      this.#held.set(id, { holder: session, releaseOnCommit, sinceMs: this.#now() })
      return statusStandIn.success
    }
    if (held.holder === session) return statusStandIn.own
    if (seconds === 0) return statusStandIn.timeout
    if (wouldDeadlock(session, [held.holder])) return statusStandIn.deadlock
    return this.#wait(session, id, seconds, releaseOnCommit)
  }

  async #wait(session: WaiterStandIn, id: number, seconds: number, releaseOnCommit: boolean): Promise<number> {
    const queue = this.#queues.get(id) ?? []
    this.#queues.set(id, queue)
    const holder = this.#held.get(id)?.holder
    const outcome = await waitStandIn(session, () => new Set(holder === undefined ? [] : [holder]), seconds === maxWait ? undefined : seconds * 1_000, (wake) => {
      const queued: Queued = { session, releaseOnCommit, grant: wake }
      queue.push(queued)
      return () => {
        const index = queue.indexOf(queued)
        if (index >= 0) queue.splice(index, 1)
      }
    })
    return outcome === 'woken' ? statusStandIn.success : statusStandIn.timeout
  }

  release(session: WaiterStandIn, id: number | undefined): number {
    if (id === undefined) return statusStandIn.illegalHandle
    if (this.#held.get(id)?.holder !== session) return statusStandIn.own // "4: do not own lock"
    this.#free(id)
    return statusStandIn.success
  }

  /** Locks with release_on_commit => TRUE end with the transaction, by commit or rollback. */
  transactionEnded(session: WaiterStandIn): void {
    for (const [id, held] of this.#held) if (held.holder === session && held.releaseOnCommit) this.#free(id)
  }

  /** "User locks are automatically released when a session terminates." */
  sessionEnded(session: WaiterStandIn): void {
    for (const [id, held] of this.#held) if (held.holder === session) this.#free(id)
  }

  /** As V$LOCK shows them. */
  rows(): readonly { readonly id: number; readonly session: WaiterStandIn; readonly heldMs: number }[] {
    return [...this.#held].map(([id, { holder, sinceMs }]) => ({ id, session: holder, heldMs: this.#now() - sinceMs }))
  }

  /** The number in a handle, or undefined for what is none. */
  idOf(handle: unknown): number | undefined {
    const id = typeof handle === 'string' && /^\d{23}$/.test(handle) ? Number(handle.slice(0, 10)) : undefined
    return id !== undefined && id >= firstId && id < this.#nextId ? id : undefined
  }

  #free(id: number): void {
    this.#held.delete(id)
    const next = this.#queues.get(id)?.shift()
    if (next === undefined) return
    this.#held.set(id, { holder: next.session, releaseOnCommit: next.releaseOnCommit, sinceMs: this.#now() })
    next.grant()
  }
}
