import { randomUUID } from 'node:crypto'
import type { ExecutionState } from '../../src/ledger/execution-state.ts'
import type { AttemptKey } from '../../src/ledger/finish.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { StartRequest } from '../../src/ledger/start.ts'
import type { SlotInsert } from '../../src/spi/store-dialect.ts'
import type { SqlRow, SqlValue } from '../../src/spi/sql-session.ts'
import type { StoreSession } from '../../src/session/store-session.ts'
import type { SessionLimits, StoreGround } from './store-ground.ts'

export const hash: string = 'a'.repeat(64)
export const otherHash: string = 'b'.repeat(64)

/** A namespace of its own, its rows written and read behind the ledger's back. */
export class Scene {
  readonly ground: StoreGround
  readonly namespace: string = `t${randomUUID().slice(0, 12)}`
  readonly ledger: Ledger
  readonly #onlooker: StoreSession

  constructor(ground: StoreGround, limits: SessionLimits = {}) {
    this.ground = ground
    this.ledger = this.ledgerOn(ground.session('store', limits))
    this.#onlooker = ground.session('onlooker')
  }

  ledgerOn(store: StoreSession): Ledger {
    const { sql, overrides = {} } = this.ground.storeDialect
    return { namespace: this.namespace, tables: this.ground.tables, sql, overrides, store }
  }

  /** The ledger of another instance. */
  neighbour(limits: SessionLimits = {}): Ledger { return this.ledgerOn(this.ground.session('neighbour', limits)) }

  async query(text: string, params: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    return (await this.#onlooker.run('looking on', { text, params })).rows
  }

  async now(): Promise<number> {
    const { sql } = this.ledger
    return (await this.query(`SELECT ${sql.nowMs} AS t${sql.dual}`))[0]?.['t'] as number
  }

  async insert(table: 'tasks' | 'nodes' | 'executions' | 'meta', row: Readonly<Record<string, SqlValue>>): Promise<void> {
    const columns = { namespace: this.namespace, ...row }
    await this.query(`INSERT INTO ${this.ledger.tables[table]} (${Object.keys(columns).join(', ')}) VALUES (${Object.keys(columns).map(() => '?').join(', ')})`, Object.values(columns))
  }

  /** A task, active and armed for a minute unless the columns say otherwise. */
  async addTask(taskName = 'job', columns: Readonly<Record<string, SqlValue>> = {}): Promise<string> {
    await this.insert('tasks', {
      task_name: taskName, definition_hash: hash, revision: 0, defined_by: 'nobody', spec: '{}', state: 'active', armed_from: await this.now() - 60_000, gate_owner: null, gate_node: null, fencing_token: 1, ...columns,
    })
    return taskName
  }

  /** A node, alive for a minute unless the columns say otherwise. */
  async addNode(columns: Readonly<Record<string, SqlValue>> = {}): Promise<string> {
    const nodeId = randomUUID()
    const now = await this.now()
    await this.insert('nodes', { node_id: nodeId, state: 'alive', lease_until: now + 60_000, started_at: now, node_label: 'test', revision: 0, versions: '{}', ...columns })
    return nodeId
  }

  /** An execution, pending and due unless the columns say otherwise. */
  async addExecution(columns: Readonly<Record<string, SqlValue>> = {}): Promise<string> {
    const executionId = randomUUID()
    const now = await this.now()
    await this.insert('executions', {
      execution_id: executionId, task_name: 'job', fire_time: now - 1_000, slot_key: 'cron', state: 'pending', origin: 'scheduled', attempt: 0, crash_count: 0, due_at: now - 1_000, created_at: now, definition_hash: hash, ...columns,
    })
    return executionId
  }

  /** An execution in this state, with the owner, node and token that a running one has. */
  async addExecutionIn(state: ExecutionState, nodeId: string, columns: Readonly<Record<string, SqlValue>> = {}): Promise<AttemptKey> {
    const owner = randomUUID()
    const fencingToken = 7
    const held = state === 'running' ? { node_id: nodeId, owner, fencing_token: fencingToken, attempt: 1 } : { owner, fencing_token: fencingToken }
    const executionId = await this.addExecution({ state, ...held, ...columns })
    return { executionId, taskName: (columns['task_name'] as string | undefined) ?? 'job', owner, fencingToken }
  }

  async execution(executionId: string): Promise<SqlRow> {
    const [row] = await this.query(`SELECT * FROM ${this.ledger.tables.executions} WHERE namespace = ? AND execution_id = ?`, [this.namespace, executionId])
    if (row === undefined) throw new Error('there is no such execution')
    return row
  }

  executions(): Promise<readonly SqlRow[]> {
    return this.query(`SELECT * FROM ${this.ledger.tables.executions} WHERE namespace = ? ORDER BY fire_time, slot_key`, [this.namespace])
  }

  async task(taskName = 'job'): Promise<SqlRow> {
    const [row] = await this.query(`SELECT * FROM ${this.ledger.tables.tasks} WHERE namespace = ? AND task_name = ?`, [this.namespace, taskName])
    if (row === undefined) throw new Error('there is no such task')
    return row
  }

  async node(nodeId: string): Promise<SqlRow> {
    const [row] = await this.query(`SELECT * FROM ${this.ledger.tables.nodes} WHERE namespace = ? AND node_id = ?`, [this.namespace, nodeId])
    if (row === undefined) throw new Error('there is no such node')
    return row
  }

  /** What an instance asks for when a fire time comes. */
  slot(fireTime: number, more: Partial<SlotInsert> = {}): Omit<SlotInsert, 'namespace'> {
    return { executionId: randomUUID(), taskName: 'job', definitionHash: hash, fireTime, dueAt: fireTime, maxClaimAgeMs: 10_000, toleranceMs: 250, ...more }
  }

  startRequest(executionId: string, nodeId: string, more: Partial<StartRequest> = {}): StartRequest {
    return { executionId, taskName: 'job', definitionHash: hash, nodeId, owner: randomUUID(), gated: true, manual: false, ...more }
  }
}
