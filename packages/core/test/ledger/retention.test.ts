import { expect, it } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { retryExecution } from '../../src/ledger/retry-execution.ts'
import { deleteEnded, tasksWithEnded } from '../../src/ledger/retention.ts'
import type { StoreSession } from '../../src/session/store-session.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const keepMs = 60_000

/** Executions of a task that ended so many times `keepMs` ago. */
async function ended(scene: Scene, taskName: string, ages: readonly number[], columns: Record<string, string> = {}): Promise<string[]> {
  const now = await scene.now()
  const ids: string[] = []
  for (const age of ages) {
    const at = now - age * keepMs
    ids.push(await scene.addExecution({ task_name: taskName, state: 'failed', fire_time: at, due_at: at, finished_at: at, ...columns }))
  }
  return ids
}

describeStores('retention', (ground) => {
  it('P12: one statement names the tasks that have something to delete', async () => {
    const scene = new Scene(ground())
    await ended(scene, 'newest only', [5])
    await ended(scene, 'young', [0.5, 0.2])
    await ended(scene, 'old', [5, 0.5])
    await ended(scene, 'two of age', [5, 4])
    await ended(scene, 'triggered', [5], { slot_key: 'by hand' })
    await scene.addExecution({ task_name: 'open', fire_time: 1, due_at: 1 })
    await scene.addExecution({ task_name: 'open', fire_time: 2, due_at: 1 })
    await ended(new Scene(ground()), 'of another namespace', [5, 4])
    expect((await tasksWithEnded(scene.ledger, keepMs)).sort()).toEqual(['old', 'triggered', 'two of age'])
  })

  it('P1: a hundred go at once, the newest stays', async () => {
    const scene = new Scene(ground())
    await ended(scene, 'job', Array.from({ length: 130 }, (_, index) => 2 + index / 100))
    expect(await deleteEnded(scene.ledger, 'job', keepMs)).toBe(129)
    expect(await deleteEnded(scene.ledger, 'job', keepMs)).toBe(0)
    expect(await scene.executions()).toHaveLength(1)
  })

  it('P6: what a person retries between the look and the deletion stays', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const [first, second] = await ended(scene, 'job', [5, 4, 3])
    const { store } = scene.ledger
    const run: StoreSession['run'] = async (what, statement) => {
      const result = await store.run(what, statement)
      if (statement.text.startsWith('SELECT')) expect(await retryExecution(scene.neighbour(), first as string)).toBe('retried')
      return result
    }
    const ledger: Ledger = { ...scene.ledger, store: { run } as StoreSession }
    expect(await deleteEnded(ledger, 'job', keepMs)).toBe(1)
    expect(await scene.execution(first as string)).toMatchObject({ state: 'retry' })
    await expect(scene.execution(second as string)).rejects.toThrow()
  })
})
