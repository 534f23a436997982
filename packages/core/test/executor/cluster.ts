import { setTimeout as sleep } from 'node:timers/promises'
import { spawnNode, type NodeChild, type SpawnNodeOptions } from '@sched-dev/databases'
import { isSchedError } from '../../src/errors.ts'
import type { Dialect } from '../../src/spi/dialect.ts'
import type { SqlRow, SqlValue } from '../../src/spi/sql-session.ts'
import type { StoreSession } from '../../src/session/store-session.ts'
import { StoreGround, type EmptyStore } from '../ledger/store-ground.ts'
import { allEnded, silentTimes } from './coverage.ts'
import type { InstanceConfig, JournalLine } from './instance-config.ts'
import { LocalNode, type LocalOptions } from './local-node.ts'
import { realTime } from './real-time.ts'

/** One instance: a child process and its journal. */
export class Instance {
  readonly child: NodeChild

  constructor(config: InstanceConfig, options?: SpawnNodeOptions) {
    this.child = spawnNode(new URL('./instance.ts', import.meta.url), [JSON.stringify(config)], options)
  }

  get journal(): readonly JournalLine[] { return this.child.lines as unknown as readonly JournalLine[] }

  /** The first such line, past or future. */
  line(matches: (line: JournalLine) => boolean, timeoutMs = 40_000): Promise<JournalLine> {
    return this.child.line<JournalLine>(matches, timeoutMs)
  }

  started(): Promise<JournalLine> { return this.line(({ kind }) => kind === 'started', 60_000) }

  event(name: string, timeoutMs?: number): Promise<JournalLine> {
    return this.line(({ kind, event }) => kind === 'event' && event === name, timeoutMs)
  }

  /** That an attempt was fenced: where it loses its lease before, more than one may be. */
  fenced({ owner }: JournalLine): Promise<JournalLine> { return this.line((line) => line.event === 'execution.fenced' && line.owner === owner) }

  events(name: string): readonly JournalLine[] { return this.journal.filter(({ kind, event }) => kind === 'event' && event === name) }

  starts(task?: string): readonly JournalLine[] { return this.journal.filter((line) => line.kind === 'start' && (task === undefined || line.task === task)) }

  /** Stops it politely and waits for its end. */
  async stop(): Promise<void> {
    this.child.send('stop')
    await this.child.exited
  }
}

/** Instances that share one database, and a way to look into it. All is ended with it. */
export class Cluster {
  readonly store: EmptyStore
  readonly instances: Instance[] = []
  readonly #ground: StoreGround
  readonly #onlooker: StoreSession
  readonly #writer: StoreSession
  readonly #nodes: LocalNode[] = []

  constructor(store: EmptyStore) {
    this.store = store
    this.#ground = new StoreGround(store)
    this.#onlooker = this.#ground.session('onlooker', { callMs: 20_000 })
    this.#writer = this.#ground.session('writer', { callMs: 150 })
  }

  /** `address` when it reaches the database through a proxy. */
  instance(config: Omit<InstanceConfig, 'product' | 'address'> & { address?: string }, options?: SpawnNodeOptions): Instance {
    const { product, address } = this.store
    const instance = new Instance({ product, address, ...config }, options)
    this.instances.push(instance)
    return instance
  }

  /** An instance in this process: cheaper, where nothing needs to be killed or frozen. */
  node(options: LocalOptions = {}, dialect: Dialect = this.store.connect()): LocalNode {
    const node = new LocalNode(dialect, options)
    this.#nodes.push(node)
    return node
  }

  async query(text: string, params: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    return (await this.#onlooker.run('looking on', { text, params })).rows
  }

  /** The expression that reads the database's clock. */
  get nowMs(): string { return this.#ground.storeDialect.sql.nowMs }

  /** The ledger's rows, of one task or of all, oldest fire time first. */
  async executions(task?: string): Promise<readonly SqlRow[]> {
    const rows = await this.query(`SELECT * FROM sched_executions WHERE namespace = 'test' ORDER BY fire_time`)
    return task === undefined ? rows : rows.filter(({ task_name }) => task_name === task)
  }

  /** The first rows that satisfy, or an error that shows what is there. */
  async until(what: string, satisfied: (rows: readonly SqlRow[]) => boolean, timeoutMs: number, task?: string): Promise<readonly SqlRow[]> {
    const end = performance.now() + timeoutMs
    for (;;) {
      const rows = await this.executions(task)
      if (satisfied(rows)) return rows
      if (performance.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms. The ledger: ${JSON.stringify(rows.map(({ task_name, fire_time, state, attempt, crash_count, error_code, origin, missed_count }) => ({ task_name, fire_time, state, attempt, crash_count, error_code, origin, missed_count })))}`)
      await sleep(25)
    }
  }

  /**
   * Rows of one task at a moment at which nothing of it is open and every fire time between the first and the last is accounted for. While
   * it fires there is such a moment again and again; whoever stops it may leave a slot that it had just claimed, for the next to start.
   */
  settled(task: string, everyMs: number, { limitMs = 60_000, and = () => true }: { limitMs?: number; and?: (rows: readonly SqlRow[]) => boolean } = {}): Promise<readonly SqlRow[]> {
    return this.until('nothing is open and no fire time silent', (rows) => and(rows) && allEnded(rows) && silentTimes(rows, everyMs).length === 0, limitMs, task)
  }

  /** Puts a slot of a task there that is due now, as a scan leaves what it catches up: a run at a moment that the test chooses. */
  async makeDue(task: string, id = `due ${task}`): Promise<void> {
    await this.query(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash) SELECT namespace, ?, task_name, 1, 'cron', 'pending', 'catchup', 0, 0, 1, 1, definition_hash FROM sched_tasks WHERE task_name = ?`, [id, task])
  }

  get journal(): readonly JournalLine[] { return this.instances.flatMap(({ journal }) => journal).sort((a, b) => a.at - b.at) }

  starts(task?: string): readonly JournalLine[] { return this.journal.filter((line) => line.kind === 'start' && (task === undefined || line.task === task)) }

  /**
   * Freezes an instance at a moment at which it is not writing: frozen inside a write transaction it would stop every writer on SQLite,
   * which is a case of its own. Returns the moment.
   */
  async freeze({ child }: { readonly child: NodeChild }): Promise<number> {
    for (let tries = 1; ; tries += 1) {
      const frozenAt = realTime()
      await child.freeze()
      if (this.store.product !== 'SQLite' || await this.#writable()) return frozenAt
      if (tries === 50) throw new Error('the instance is always writing')
      child.thaw()
      await sleep(7)
    }
  }

  async #writable(): Promise<boolean> {
    try {
      await this.#writer.run('trying to write', { text: 'DELETE FROM sched_meta WHERE 1 = 0', params: [] })
      return true
    } catch (error) {
      if (isSchedError(error, 'SCHED_CONTENDED')) return false
      throw error
    }
  }

  async end(): Promise<void> {
    await Promise.all([...this.instances.map(({ child }) => child.kill()), ...this.#nodes.map((node) => node.end())])
    await this.#ground.end()
  }
}
