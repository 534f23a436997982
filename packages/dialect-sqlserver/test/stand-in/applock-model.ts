// The documented behaviour of application locks. Each rule names the page it is from:
//   G  https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql
//   R  https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-releaseapplock-transact-sql
//   M  https://learn.microsoft.com/sql/t-sql/functions/applock-mode-transact-sql
//   T  https://learn.microsoft.com/sql/t-sql/functions/applock-test-transact-sql
//   V  https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-locks-transact-sql
// Modelled is what a dialect that takes exclusive locks can meet: no other modes.

export type LockOwner = 'Session' | 'Transaction'

export interface ApplockPlace { readonly database: string; readonly principal: string; readonly resource: string }

interface Hold { session: number; owner: LockOwner; count: number }
interface Waiter { session: number; owner: LockOwner; grant(): void }
interface Lock { readonly place: ApplockPlace; holds: Hold[]; waiting: Waiter[] }

/** G: names are compared bit by bit, and cut to 255 characters. V: database, principal and name make the lock. */
const keyOf = ({ database, principal, resource }: ApplockPlace): string => JSON.stringify([database, principal, resource.slice(0, 255)])

export class ApplockModel {
  readonly #locks = new Map<string, Lock>()

  /** G: 0 at once, 1 after waiting, -1 time-out, -2 cancelled, -3 deadlock victim. `waitMs` -1 waits for ever, 0 does not wait. */
  async acquire(session: number, owner: LockOwner, place: ApplockPlace, waitMs: number, cancelled: AbortSignal): Promise<number> {
    const lock = this.#lock(place)
    if (this.#grantable(lock, session) && (lock.waiting.length === 0 || this.#holdOf(lock, session, owner) !== undefined)) {
      this.#hold(lock, session, owner)
      return 0
    }
    if (waitMs === 0) return -1
    // G: a deadlock ends the call with -3 and does not roll the transaction back; the session keeps what it has.
    if (this.#wouldDeadlock(lock, session)) return -3
    return this.#wait(lock, session, owner, waitMs, cancelled)
  }

  /** R: as many releases as requests; false (error 1223) when the session does not hold it under this owner. */
  release(session: number, owner: LockOwner, place: ApplockPlace): boolean {
    const lock = this.#locks.get(keyOf(place))
    const hold = lock === undefined ? undefined : this.#holdOf(lock, session, owner)
    if (lock === undefined || hold === undefined) return false
    hold.count -= 1
    if (hold.count === 0) this.#drop(lock, hold)
    return true
  }

  /** M */
  mode(session: number, owner: LockOwner, place: ApplockPlace): 'Exclusive' | 'NoLock' {
    const lock = this.#locks.get(keyOf(place))
    return lock !== undefined && this.#holdOf(lock, session, owner) !== undefined ? 'Exclusive' : 'NoLock'
  }

  /** T: 1 when it would be granted at once. */
  test(session: number, place: ApplockPlace): 0 | 1 {
    const lock = this.#locks.get(keyOf(place))
    return lock === undefined || (this.#grantable(lock, session) && lock.waiting.length === 0) ? 1 : 0
  }

  /** G: locks of the owner Session end with the session, those of a transaction with that. */
  endOf(session: number, owner?: LockOwner): void {
    for (const lock of [...this.#locks.values()]) {
      for (const hold of lock.holds.filter((each) => each.session === session && (owner === undefined || each.owner === owner))) this.#drop(lock, hold)
    }
  }

  /** V */
  rows(): readonly { session: number; database: string; resource: string; status: 'GRANT' | 'WAIT'; owner: LockOwner }[] {
    return [...this.#locks.values()].flatMap(({ place, holds, waiting }) => [
      ...holds.map(({ session, owner }) => ({ session, owner, database: place.database, resource: place.resource, status: 'GRANT' as const })),
      ...waiting.map(({ session, owner }) => ({ session, owner, database: place.database, resource: place.resource, status: 'WAIT' as const })),
    ])
  }

  #wait(lock: Lock, session: number, owner: LockOwner, waitMs: number, cancelled: AbortSignal): Promise<number> {
    return new Promise((resolve) => {
      const waiter: Waiter = { session, owner, grant: () => { leave(1) } }
      const timer = waitMs < 0 ? undefined : setTimeout(() => { leave(-1) }, waitMs)
      const cancel = (): void => { leave(-2) }
      const leave = (code: number): void => {
        clearTimeout(timer)
        cancelled.removeEventListener('abort', cancel)
        lock.waiting = lock.waiting.filter((each) => each !== waiter)
        if (code === 1) this.#hold(lock, session, owner)
        else this.#next(lock)
        resolve(code)
      }
      cancelled.addEventListener('abort', cancel)
      lock.waiting.push(waiter)
      if (cancelled.aborted) cancel()
    })
  }

  #hold(lock: Lock, session: number, owner: LockOwner): void {
    const hold = this.#holdOf(lock, session, owner)
    if (hold === undefined) lock.holds.push({ session, owner, count: 1 })
    else hold.count += 1
  }

  #drop(lock: Lock, hold: Hold): void {
    lock.holds = lock.holds.filter((each) => each !== hold)
    this.#next(lock)
  }

  #next(lock: Lock): void {
    const [first] = lock.waiting
    if (first !== undefined && this.#grantable(lock, first.session)) first.grant()
    if (lock.holds.length === 0 && lock.waiting.length === 0) this.#locks.delete(keyOf(lock.place))
  }

  /** Exclusive excludes every other session; the same one is granted again, under the other owner too. */
  #grantable(lock: Lock, session: number): boolean { return lock.holds.every((hold) => hold.session === session) }

  #holdOf(lock: Lock, session: number, owner: LockOwner): Hold | undefined {
    return lock.holds.find((hold) => hold.session === session && hold.owner === owner)
  }

  #wouldDeadlock(lock: Lock, session: number, seen = new Set<Lock>()): boolean {
    if (seen.has(lock)) return false
    seen.add(lock)
    return lock.holds.some((hold) => hold.session !== session
      && [...this.#locks.values()].some((other) => other.waiting.some((waiter) => waiter.session === hold.session)
        && (other.holds.some((each) => each.session === session) || this.#wouldDeadlock(other, session, seen))))
  }

  #lock(place: ApplockPlace): Lock {
    const known = this.#locks.get(keyOf(place))
    if (known !== undefined) return known
    const lock: Lock = { place, holds: [], waiting: [] }
    this.#locks.set(keyOf(place), lock)
    return lock
  }
}
