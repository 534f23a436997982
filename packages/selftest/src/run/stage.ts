import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import {
  lockName, type HeldBy, type LockConnection, type LockHolder, type LockHolding, type LockKind, type LockName, type LockOutcome, type LockRequest,
  type LockSource, type OpenOptions, type ReleaseOutcome, type SqlSession, type StoreDialect, type Tables, type Dialect,
} from '@sched/core/spi'
import type { CaseContext } from '../case-context.ts'
import type { Facts } from '../facts.ts'
import type { Locks } from '../library.ts'
import { Belongings } from './belongings.ts'
import { persistent } from './persistent.ts'
import { quietLeaseMs, type Scene } from './scene.ts'
import { sleep, timed } from './timing.ts'

/** The context of one case: names, connections and locks of its own, all of them remembered. */
export class Stage implements CaseContext {
  readonly dialect: Dialect
  readonly source: LockSource
  readonly facts: Facts
  readonly leaseMs: number
  readonly keptLeaseMs: number
  readonly promptMs: number
  readonly soonMs: number
  readonly graceMs: number
  readonly label: string
  readonly namespace: string
  readonly libraryLabel: string
  readonly secrets: readonly string[]
  readonly belongings: Belongings
  /** The last thing that was asked of the dialect, for the message of a missed deadline. */
  lastStep = 'the first step'
  readonly #scene: Scene
  readonly #caseId: string
  readonly #abort = new AbortController()
  #names = 0

  constructor(scene: Scene, caseId: string) {
    this.#scene = scene
    this.#caseId = caseId
    this.dialect = scene.dialect
    this.source = scene.source
    this.facts = scene.facts
    this.leaseMs = scene.leaseMs
    this.keptLeaseMs = Math.max(scene.leaseMs, 3_000)
    this.promptMs = scene.promptMs
    this.soonMs = 4_000 + scene.promptMs
    this.graceMs = 1_000 + scene.promptMs
    this.namespace = `${scene.namespace}-${caseId.toLowerCase()}`
    this.label = `sched:${scene.namespace}:${caseId}`
    this.libraryLabel = `sched:${this.namespace}:${hostname()}:${process.pid}`
    this.secrets = scene.secrets.values
    this.belongings = new Belongings(scene)
  }

  /** Nothing opens any more after this. */
  end(reason: Error): void { this.#abort.abort(reason) }

  redact(text: string): string { return this.#scene.secrets.redact(text) }

  openOptions(changes: Partial<OpenOptions> = {}): OpenOptions {
    const { tables, sharedSessions } = this.#scene
    return { signal: this.#abort.signal, leaseMs: quietLeaseMs, label: this.label, sharedSessions, ...(tables === undefined ? {} : { tables }), ...changes }
  }

  name(text = 'lock', place: { kind?: LockKind; namespace?: string } = {}): LockName {
    this.#names += 1
    return this.exactName(`${this.#caseId}/${this.#names}/${text}`, place)
  }

  exactName(text: string, { kind = 'user', namespace = this.namespace }: { kind?: LockKind; namespace?: string } = {}): LockName {
    return lockName(namespace, kind, text)
  }

  request(name: LockName, changes: Partial<LockRequest> = {}): LockRequest {
    return { name, owner: randomUUID(), ownerLabel: this.label, leaseMs: quietLeaseMs, ...changes }
  }

  async open({ purpose = 'pulse', ...changes }: { purpose?: 'pulse' | 'wait' } & Partial<OpenOptions> = {}): Promise<LockConnection> {
    this.#step(`open a ${purpose} connection`)
    const connection = await this.source.open(purpose, this.openOptions(changes))
    this.belongings.opened(connection)
    if (this.#abort.signal.aborted) connection.destroy()
    return connection
  }

  async openStore(): Promise<{ store: StoreDialect; session: SqlSession; tables: Tables }> {
    const { store } = this.dialect
    assert(store !== undefined && this.#scene.tables !== undefined, 'the dialect has a store')
    this.#step('open a store session')
    const session = await store.open('store', { ...this.openOptions(), statementMs: this.soonMs, rowLockMs: this.promptMs, sharedSessions: this.#scene.sharedSessions })
    this.belongings.closeLater(() => session.destroy())
    return { store, session, tables: this.#scene.tables }
  }

  locks({ leaseMs = this.leaseMs, heartbeatMs = Math.floor(leaseMs / 4) }: { leaseMs?: number; heartbeatMs?: number } = {}): Locks {
    this.#step('create the library')
    const { dialect, namespace } = this
    const locks = this.#scene.createLocks({ dialect, namespace, leaseMs, heartbeatMs, tables: { prefix: this.#scene.tablePrefix } })
    this.belongings.library(locks)
    return locks
  }

  async tryLock(connection: LockConnection, request: LockRequest): Promise<LockOutcome> {
    return this.#granting(connection, request, 'tryLock', () => this.source.strategy.tryLock(connection, request))
  }

  async lock(connection: LockConnection, request: LockRequest, waitMs: number): Promise<LockOutcome> {
    const { strategy } = this.source
    assert(strategy.lock !== undefined, 'the strategy has no `lock` although the capability serverSideWait is true')
    return this.#granting(connection, request, `lock for ${waitMs} ms`, () => strategy.lock?.(connection, request, waitMs) as Promise<LockOutcome>)
  }

  async release(connection: LockConnection, holding: LockHolding): Promise<ReleaseOutcome> {
    this.#step('release')
    const outcome = await persistent(this.source, () => this.source.strategy.release(connection, holding))
    assert(['released', 'not-held', 'indeterminate'].includes(outcome.status), `release answered ${JSON.stringify(outcome)}`)
    if (outcome.status === 'released') this.belongings.released(holding.owner)
    return outcome
  }

  async refresh(connection: LockConnection, holdings: readonly LockHolding[], leaseMs: number = quietLeaseMs): Promise<readonly string[]> {
    this.#step('refresh')
    const { lost } = await persistent(this.source, () => this.source.strategy.refresh(connection, holdings, leaseMs))
    return lost
  }

  isHeld(connection: LockConnection, holding: LockHolding): Promise<HeldBy> {
    this.#step('isHeld')
    return persistent(this.source, () => this.source.strategy.isHeld(connection, holding))
  }

  inspect(connection: LockConnection, name: LockName): Promise<LockHolder | null> {
    this.#step('inspect')
    return persistent(this.source, () => this.source.strategy.inspect(connection, name))
  }

  async take(connection: LockConnection, what: LockName | LockRequest): Promise<LockHolding> {
    const request = 'owner' in what ? what : this.request(what)
    const outcome = await this.tryLock(connection, request)
    assert(outcome.status === 'granted', `the lock ${shown(request.name)} was ${outcome.status} although it is free`)
    return { name: request.name, owner: request.owner, fencingToken: outcome.fencingToken }
  }

  async mustBeRefused(connection: LockConnection, name: LockName, why: string): Promise<void> {
    const { status } = await this.tryLock(connection, this.request(name))
    assert(status === 'refused', `the lock ${shown(name)} was ${status}: ${why}`)
  }

  async mustBeFree(connection: LockConnection, name: LockName, why: string): Promise<void> {
    const request = this.request(name)
    const outcome = await this.tryLock(connection, request)
    assert(outcome.status === 'granted', `the lock ${shown(name)} was ${outcome.status}: ${why}`)
    const { status } = await this.release(connection, { name, owner: request.owner, fencingToken: outcome.fencingToken })
    assert(status === 'released', `the release of ${shown(name)} was ${status}`)
  }

  async takeWithin(connection: LockConnection, name: LockName, withinMs: number): Promise<{ holding: LockHolding; afterMs: number }> {
    const startedAt = performance.now()
    for (;;) {
      const request = this.request(name)
      const askedMs = performance.now() - startedAt
      const outcome = await this.tryLock(connection, request)
      if (outcome.status === 'granted') return { holding: { name, owner: request.owner, fencingToken: outcome.fencingToken }, afterMs: performance.now() - startedAt }
      assert(askedMs <= withinMs, `the lock ${shown(name)} was still ${outcome.status} after ${Math.round(askedMs)} ms`)
      await sleep(20)
    }
  }

  sessions(label: string = this.label): Promise<readonly (string | number)[]> {
    return this.#scene.observe((diagnostics, connection) => diagnostics.sessions(connection, label))
  }

  lockCount(label: string = this.label): Promise<number> {
    return this.#scene.observe((diagnostics, connection) => diagnostics.locks(connection, label))
  }

  async kill(connection: LockConnection): Promise<void> {
    const { id } = connection
    assert(id !== undefined, 'the connection has an id')
    this.#step(`kill session ${id}`)
    await this.#scene.observe(async (diagnostics, observer) => diagnostics.kill?.(observer, id))
  }

  sleep(delayMs: number): Promise<void> { return sleep(delayMs) }
  timed<T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number }> { return timed(work) }

  async quickest(enoughMs: number, work: () => Promise<void>): Promise<number> {
    let quickestMs = Infinity
    for (let time = 0; time < 3 && quickestMs >= enoughMs; time += 1) quickestMs = Math.min(quickestMs, (await timed(work)).tookMs)
    return quickestMs
  }

  async eventually(what: string, withinMs: number, check: () => Promise<boolean> | boolean): Promise<void> {
    const startedAt = performance.now()
    for (;;) {
      const lookedMs = performance.now() - startedAt
      if (await check()) return
      assert(lookedMs <= withinMs, `${what}: not within ${Math.round(withinMs)} ms`)
      await sleep(20)
    }
  }

  async #granting(connection: LockConnection, request: LockRequest, what: string, work: () => Promise<LockOutcome>): Promise<LockOutcome> {
    this.#step(`${what} ${shown(request.name)}`)
    const outcome = await persistent(this.source, work)
    assert(['granted', 'refused', 'indeterminate'].includes(outcome.status), `${what} answered ${JSON.stringify(outcome)}`)
    const settled = outcome.status === 'indeterminate' ? await this.#verified(connection, request) : outcome
    if (settled.status === 'granted') this.belongings.granted(connection, { name: request.name, owner: request.owner, fencingToken: settled.fencingToken })
    return settled
  }

  // As the core does: ask the same connection what came of it.
  async #verified(connection: LockConnection, request: LockRequest): Promise<LockOutcome> {
    const held = await this.isHeld(connection, { name: request.name, owner: request.owner, fencingToken: undefined })
    return { status: held === 'mine' ? 'granted' : 'refused' }
  }

  #step(what: string): void {
    this.lastStep = what
    this.#abort.signal.throwIfAborted()
  }
}

function shown(name: LockName): string {
  return JSON.stringify(name.name.length > 60 ? `${name.name.slice(0, 57)}...` : name.name)
}
