import { afterAll, beforeAll, vi } from 'vitest'
import { lockName, type Dialect, type LockName } from '@sched/core/spi'
import { Ground, namespace } from './ground.ts'

// Hundreds of durable writes, and databases that are made and dropped, take seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** A database that the lock table is tried on. */
export interface Place {
  readonly title: string
  /** True behind a transaction pooler. */
  readonly sharedSessions: boolean
  open(): Promise<{ dialect: Dialect; end(): Promise<void> }>
}

let names = 0
/** A name that no other test uses. */
export function freshName(text = 'job'): LockName {
  names += 1
  return lockName(namespace, 'user', `${text}-${names}`)
}

/** Opens the place for the tests of a `describe`. */
export function onPlace(place: Place): () => Ground {
  let ground: Ground | undefined
  let opened: Awaited<ReturnType<Place['open']>> | undefined
  beforeAll(async () => {
    opened = await place.open()
    ground = new Ground(opened.dialect, place.sharedSessions)
    await ground.createLockTable()
  })
  afterAll(async () => {
    ground?.destroyAll()
    await ground?.dialect.close()
    await opened?.end()
  })
  return () => ground!
}
