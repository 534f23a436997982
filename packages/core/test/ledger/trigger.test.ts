import { expect, it } from 'vitest'
import { triggerTask } from '../../src/ledger/operate.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const sessions = 10
const patient = { rowLockMs: 10_000, callMs: 20_000 }

describeStores('trigger', (ground) => {
  it('P1: one key from ten sessions at once makes one execution, and all are told which; again and again', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const neighbours = Array.from({ length: sessions }, () => scene.neighbour(patient))
    for (const key of ['march', 'april', 'may']) {
      const answers = await Promise.all(neighbours.map((ledger) => triggerTask(ledger, 'job', key)))
      expect(new Set(answers.map(({ executionId }) => executionId)).size).toBe(1)
      expect(answers.filter(({ created }) => created)).toHaveLength(1)
      expect(await scene.execution(answers[0]!.executionId)).toMatchObject({ state: 'pending', origin: 'manual', task_name: 'job' })
    }
    expect(await scene.executions()).toHaveLength(3)
    // Also when it has ended: the key is used up.
    await scene.query(`UPDATE ${scene.ledger.tables.executions} SET state = 'succeeded' WHERE namespace = ?`, [scene.namespace])
    expect((await Promise.all(neighbours.map((ledger) => triggerTask(ledger, 'job', 'may')))).filter(({ created }) => created)).toEqual([])
  })

  it('P1: without a key ten sessions at once make ten executions, in one millisecond too', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const answers = await Promise.all(Array.from({ length: sessions }, () => triggerTask(scene.neighbour(patient), 'job', undefined)))
    expect(answers.every(({ created }) => created)).toBe(true)
    expect(await scene.executions()).toHaveLength(sessions)
  })

  it('P1: one key of two tasks is two executions', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    await scene.addTask('other')
    const [one, two] = [await triggerTask(scene.ledger, 'job', 'march'), await triggerTask(scene.ledger, 'other', 'march')]
    expect([one.created, two.created, one.executionId === two.executionId]).toEqual([true, true, false])
  })
})
