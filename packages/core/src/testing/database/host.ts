import type { ManualClock } from '../time/manual-clock.ts'

/** Something of a process that the server notices the end of. */
interface Ending { hangUp(): void }

/** A process as the database in memory knows it: its name, its clock, its connections. */
export class Host {
  readonly name: string
  readonly clock: ManualClock
  readonly connections: Set<Ending> = new Set()
  readonly #killed: (() => void)[] = []

  constructor(name: string, clock: ManualClock) {
    this.name = name
    this.clock = clock
  }

  freeze(forMs?: number, first?: 'timers' | 'outside'): void {
    this.clock.freeze()
    const { timeline } = this.clock
    if (forMs !== undefined) timeline.at(timeline.nowMs + forMs, () => { this.clock.thaw(first) })
  }

  /** Nothing of it ever happens again; its connections are closed, as the system does for a process that was killed. */
  kill(): void {
    if (this.clock.halted) return
    this.clock.halt()
    for (const connection of [...this.connections]) connection.hangUp()
    for (const callback of this.#killed) callback()
  }

  onKill(callback: () => void): void { this.#killed.push(callback) }
}
