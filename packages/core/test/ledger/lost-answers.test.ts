import { setTimeout as sleep } from 'node:timers/promises'
import { describeServer, proxyFor, type TcpProxy } from '@sched-dev/databases'
import { postgres } from '@sched/dialect-postgres'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { finishExecution, finishStatements, type AttemptEnd } from '../../src/ledger/finish.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { readBack, type ReadBack } from '../../src/ledger/read-back.ts'
import { insertSlot } from '../../src/ledger/slot.ts'
import { startExecution } from '../../src/ledger/start.ts'
import { Scene } from './scene.ts'
import { emptyPostgres, StoreGround, type EmptyStore } from './store-ground.ts'

type Cut = 'cutAfterClientBytes' | 'cutBeforeForward'
const cuts = [['done, and the answer lost', 'cutAfterClientBytes'], ['not done', 'cutBeforeForward']] as const satisfies readonly (readonly [string, Cut])[]

/** Connections cut between sending and the reply. SQLite has no such thing: its calls return or throw. */
describeServer('postgres', ({ url }) => {
  let ground: StoreGround<EmptyStore>
  beforeAll(async () => {
    ground = new StoreGround(await emptyPostgres(url))
    await migrate(ground.migration())
  })
  afterAll(async () => { await ground.end() })

  /** A ledger whose store session goes through a proxy, open already so that only statements of ours can match a cut. */
  async function proxied(): Promise<{ scene: Scene; ledger: Ledger; proxy: TcpProxy }> {
    const scene = new Scene(ground)
    const proxy = await proxyFor(ground.store.address)
    const session = ground.session('proxied', {}, postgres({ url: proxy.url(ground.store.address) }))
    await session.open()
    return { scene, proxy, ledger: scene.ledgerOn(session) }
  }

  const commit = (bytes: Buffer): boolean => bytes.includes('COMMIT')

  it.each(cuts)('P1: a slot insert cut off (%s) is repeated with its id, has one row, and is won', async (_, cut) => {
    const { scene, ledger, proxy } = await proxied()
    await scene.addTask()
    const slot = scene.slot(await scene.now())
    const happened = proxy[cut]((bytes) => bytes.includes('ON CONFLICT DO NOTHING'))
    expect(await insertSlot(ledger, slot)).toEqual({ status: 'won' })
    await happened
    expect(await insertSlot(ledger, scene.slot(slot.fireTime))).toEqual({ status: 'taken' })
    expect(await scene.executions()).toHaveLength(1)
  })

  it.each(cuts)('P1: a start whose COMMIT was cut off (%s) is read back', async (_, cut) => {
    const { scene, ledger, proxy } = await proxied()
    await scene.addTask()
    const nodeId = await scene.addNode()
    const executionId = await scene.addExecution()
    const request = scene.startRequest(executionId, nodeId)
    const happened = proxy[cut](commit)
    const outcome = await startExecution(ledger, request)
    await happened
    const row = await scene.execution(executionId)
    if (cut === 'cutAfterClientBytes') {
      expect(outcome).toMatchObject({ status: 'started', fencingToken: row['fencing_token'], attempt: 1 })
      expect(row).toMatchObject({ state: 'running', owner: request.owner })
    } else {
      expect(outcome).toEqual({ status: 'unanswered' })
      expect(row).toMatchObject({ state: 'pending', owner: null, attempt: 0 })
      expect(await scene.task()).toMatchObject({ gate_owner: null })
      expect(await startExecution(ledger, request)).toMatchObject({ status: 'started', attempt: 1 })
    }
  })

  const ends: readonly AttemptEnd[] = [
    { state: 'succeeded' }, { state: 'failed', errorCode: 'E', errorText: 'text' }, { state: 'retry', reason: 'retry', delayMs: 0, charged: true, errorCode: 'E', errorText: 'text' },
  ]
  for (const end of ends) {
    it.each(cuts)(`P7: a finish as ${end.state} whose COMMIT was cut off (%s) is done and never called fenced`, async (_, cut) => {
      const { scene, ledger, proxy } = await proxied()
      const nodeId = await scene.addNode()
      const key = await scene.addExecutionIn('running', nodeId)
      await scene.addTask('job', { gate_owner: key.owner, gate_node: nodeId })
      const happened = proxy[cut](commit)
      expect(await finishExecution(ledger, key, end, { clearGate: true })).toBe('done')
      await happened
      expect(await scene.execution(key.executionId)).toMatchObject({ state: end.state, attempt: 1 })
      expect(await scene.task()).toMatchObject({ gate_owner: null })
    })
  }

  it.each(cuts)('P7: a zombie whose COMMIT was cut off (%s) is still fenced', async (_, cut) => {
    const { scene, ledger, proxy } = await proxied()
    await scene.addTask()
    const key = await scene.addExecutionIn('running', await scene.addNode())
    // F finds no row and rolls back: there is nothing to commit, so the cut meets the ROLLBACK.
    const happened = proxy[cut]((bytes) => bytes.includes('ROLLBACK'))
    expect(await finishExecution(ledger, { ...key, fencingToken: 6 }, { state: 'succeeded' }, { clearGate: true }).catch((error: unknown) => error)).not.toBe('done')
    await happened
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'running', owner: key.owner })
  })

  it.each([['commits', 'mine-finished'], ['rolls back', 'mine-running']] as const)('P7: the read-back waits for an old transaction that is still open and then %s', async (how, status) => {
    const scene = new Scene(ground)
    await scene.addTask()
    const key = await scene.addExecutionIn('running', await scene.addNode())
    let found: Promise<ReadBack> | undefined
    await ground.session('old').block('an old transaction', async (sql) => {
      await finishStatements(scene.ledger, key, { state: 'succeeded' }, { clearGate: true }, sql)
      found = readBack(scene.ledgerOn(ground.session('reader', { rowLockMs: 5_000 })), key)
      // A plain SELECT would have answered by now, and wrongly.
      expect(await Promise.race([found, sleep(300, 'waits')])).toBe('waits')
      return { commit: how === 'commits', value: undefined }
    })
    expect(await found).toMatchObject({ status })
  })
})
