import { asError } from '../../errors.ts'
import type { FaultAction, FaultMoment } from '../faults/fault-action.ts'
import type { FaultBoard, Step } from '../faults/faults.ts'
import type { Host } from './host.ts'
import { MemoryDatabaseError } from './memory-error.ts'
import type { ServerSession } from './server-session.ts'

export interface WireOptions {
  readonly host: Host
  readonly board: FaultBoard
  readonly session: ServerSession
  /** How long one message takes, asked anew for each. */
  readonly latencyMs: () => number
}

interface Waiting { readonly fail: (error: Error) => void }

/**
 * One connection between a process and the server: requests travel, are done and answered, each leg in its own time, and faults strike
 * on the way. What was sent arrives, even when the process has frozen, died or hung up since: the end of a connection comes after it.
 */
export class Wire {
  readonly #options: WireOptions
  readonly #waiting = new Set<Waiting>()
  readonly #lostCallbacks: ((cause: Error) => void)[] = []
  #lastArrival = 0
  #closed: Error | undefined

  constructor(options: WireOptions) {
    this.#options = options
    const { host, session } = options
    host.connections.add(this)
    session.onEnd((why) => { this.#broken(new MemoryDatabaseError('connection-lost', `the server ended the session: ${why}`)) })
  }

  /** Sends, has it done, and answers. Rejects with what the server says, or when the connection breaks; in a dead process never settles. */
  request<T>(step: Step, work: (session: ServerSession) => T): Promise<T> {
    const { host, board, session } = this.#options
    if (host.clock.halted) return new Promise(() => undefined)
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    const actions = board.strike(step)
    return new Promise<T>((resolve, reject) => {
      const waiting: Waiting = { fail: (error) => { this.#waiting.delete(waiting); reject(error) } }
      this.#waiting.add(waiting)
      const answer = (settle: () => void): void => {
        const pause = this.#meet(actions, 'before-reply')
        if (pause === 'vanished') return
        this.#after(pause + this.#options.latencyMs(), () => {
          host.clock.deliver(() => { if (this.#waiting.delete(waiting)) settle() })
        })
      }
      const arrive = (): void => {
        if (session.ended !== undefined) return // the process has been told, or is gone
        const refusal = failure(actions, 'before-send')
        try {
          if (refusal !== undefined) throw refuse(session, refusal)
          const value = work(session)
          const spoilt = failure(actions, 'before-reply')
          if (spoilt !== undefined) throw refuse(session, spoilt)
          answer(() => { resolve(value) })
        } catch (error) {
          answer(() => { reject(asError(error)) })
        }
      }
      const pause = this.#meet(actions, 'before-send')
      if (pause === 'vanished') return
      // A process that was frozen before it sent sends when it goes on.
      host.clock.deliver(() => {
        if (this.#closed !== undefined) return
        const { timeline } = host.clock
        const at = Math.max(timeline.nowMs + pause + this.#options.latencyMs(), this.#lastArrival)
        this.#lastArrival = at
        this.#after(at - timeline.nowMs, arrive)
      })
    })
  }

  /** Calls back once, when the connection ends without `hangUp`. */
  onLost(callback: (cause: Error) => void): void { this.#lostCallbacks.push(callback) }

  get closed(): Error | undefined { return this.#closed }

  /** The process closes the connection, or is dead: the server learns of it after what was sent before. Idempotent. */
  hangUp(): void {
    const { host, session } = this.#options
    host.connections.delete(this)
    if (this.#closed !== undefined) return
    this.#closed = new MemoryDatabaseError('connection-lost', 'the connection was closed')
    if (!host.clock.halted) this.#failWaiting(this.#closed)
    this.#after(this.#lastArrival - host.clock.timeline.nowMs, () => { session.end('the client has gone') })
  }

  /** What happens to a request at this moment: how much longer it takes, or that it goes no further. */
  #meet(actions: readonly FaultAction[], when: FaultMoment): number | 'vanished' {
    const { host, session } = this.#options
    let pause = 0
    for (const action of actions) {
      if (action.when !== when) continue
      switch (action.kind) {
        case 'delay': pause += action.ms; break
        case 'freeze': host.freeze(action.forMs, action.first); break
        case 'silence': return 'vanished'
        case 'lose': session.end('the connection broke'); return 'vanished'
        case 'kill': host.kill(); return 'vanished'
        case 'fail': break // in the server's place
      }
    }
    return pause
  }

  /** The server or the network ended it: whoever waits is told, and so is whoever listens. */
  #broken(cause: Error): void {
    const { host } = this.#options
    host.connections.delete(this)
    if (this.#closed !== undefined) return
    this.#closed = cause
    host.clock.deliver(() => {
      this.#failWaiting(cause)
      for (const callback of this.#lostCallbacks) callback(cause)
    })
  }

  #failWaiting(cause: Error): void { for (const { fail } of [...this.#waiting]) fail(cause) }

  #after(ms: number, happen: () => void): void {
    const { timeline } = this.#options.host.clock
    if (ms <= 0) happen()
    else timeline.at(timeline.nowMs + ms, happen)
  }
}

function failure(actions: readonly FaultAction[], when: FaultMoment): Extract<FaultAction, { kind: 'fail' }> | undefined {
  return actions.find((action) => action.kind === 'fail' && action.when === when) as Extract<FaultAction, { kind: 'fail' }> | undefined
}

/** An error in the server's name. Some classes mean that it has rolled the transaction back. */
function refuse(session: ServerSession, { errorClass }: Extract<FaultAction, { kind: 'fail' }>): Error {
  if (session.inTransaction && (errorClass === 'deadlock' || errorClass === 'serialization')) session.rollback()
  return new MemoryDatabaseError(errorClass, `a fault: ${errorClass}`)
}
