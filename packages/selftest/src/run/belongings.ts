import type { LockConnection, LockHolding } from '@sched/core/spi'
import { asError } from '../report/failure.ts'
import type { Locks } from '../library.ts'
import type { Scene } from './scene.ts'
import { persistent } from './persistent.ts'

/** What a case has opened and taken, so that it can be given back however the case ends. */
export class Belongings {
  readonly #scene: Scene
  readonly #connections = new Set<LockConnection>()
  readonly #grants = new Map<string, { connection: LockConnection; holding: LockHolding }>()
  readonly #closers: (() => Promise<void> | void)[] = []
  usesLibrary = false

  constructor(scene: Scene) { this.#scene = scene }

  opened(connection: LockConnection): void { this.#connections.add(connection) }
  granted(connection: LockConnection, holding: LockHolding): void { this.#grants.set(holding.owner, { connection, holding }) }
  released(owner: string): void { this.#grants.delete(owner) }
  closeLater(close: () => Promise<void> | void): void { this.#closers.push(close) }
  library(locks: Locks): void { this.usesLibrary = true; this.closeLater(() => locks.close()) }

  /** Closes libraries and releases locks, the connections staying open, so that what remains is the dialect's fault. */
  async giveBack(): Promise<readonly string[]> {
    const problems: string[] = []
    const attempt = async (what: string, work: () => unknown): Promise<void> => {
      try { await work() } catch (thrown) { problems.push(`${what}: ${asError(thrown).message}`) }
    }
    for (const close of this.#closers.splice(0).reverse()) await attempt('closing failed', close)
    const grants = [...this.#grants.values()]
    this.#grants.clear()
    if (grants.length === 0) return problems
    if (this.#scene.facts.capabilities.kind === 'lease') await attempt('releasing failed', () => this.#releaseRows(grants.map(({ holding }) => holding)))
    else for (const { connection, holding } of grants) await attempt('releasing failed', () => this.#releaseOnSession(connection, holding))
    return problems
  }

  destroyConnections(): readonly string[] {
    const problems: string[] = []
    for (const connection of this.#connections) {
      try { connection.destroy() } catch (thrown) { problems.push(`destroy threw: ${asError(thrown).message}`) }
    }
    this.#connections.clear()
    return problems
  }

  // With a session that has ended its locks are gone: that is asked of the server afterwards, not believed here.
  async #releaseOnSession(connection: LockConnection, holding: LockHolding): Promise<void> {
    const { source } = this.#scene
    try { await source.strategy.release(connection, holding) } catch (error) {
      if (source.classify(error) !== 'connection-lost') throw error
    }
  }

  // Rows outlive connections, and the case may have destroyed all of its own.
  async #releaseRows(holdings: readonly LockHolding[]): Promise<void> {
    await this.#scene.janitor(async (connection) => {
      for (const holding of holdings) await persistent(this.#scene.source, () => this.#scene.source.strategy.release(connection, holding))
    })
  }
}
