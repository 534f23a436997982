import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { createScheduler } from '../../src/executor/scheduler.ts'
import { createLocks } from '../../src/index.ts'
import { emptySqlite } from '../ledger/store-ground.ts'

/** As long as another instance may take to switch a new file to WAL on a slow disk. */
const heldMs = 300

/** What `work` comes to on a file that nobody but its holder may read at first, as while an instance switches it to WAL. */
async function onHeldFile<T>(work: (file: string) => Promise<T>): Promise<T> {
  const store = await emptySqlite()
  const holder = new DatabaseSync(store.address)
  onTestFinished(async () => { holder.close(); await store.end() })
  holder.exec('CREATE TABLE theirs (n INTEGER)')
  holder.exec('BEGIN EXCLUSIVE')
  const result = work(store.address)
  await Promise.race([result, sleep(heldMs)])
  holder.exec('COMMIT')
  return result
}

it('P1: a scheduler that starts while another process has the file to itself waits its turn', async () => {
  await onHeldFile((file) => {
    const scheduler = createScheduler({ dialect: sqlite({ file }), signals: false })
    onTestFinished(() => scheduler.stop())
    return scheduler.start()
  })
})

it('P1: the first lock on such a file waits its turn', async () => {
  const { status } = await onHeldFile((file) => {
    const locks = createLocks({ dialect: sqlite({ file }) })
    onTestFinished(() => locks.close())
    return locks.tryAcquire('job')
  })
  expect(status).toBe('acquired')
})
