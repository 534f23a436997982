import { join } from 'node:path'
import { spawnNode } from '@sched-dev/databases'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lockName, type LockOutcome } from '@sched/core/spi'
import { sqlite } from '../src/index.ts'
import { Ground, namespace } from './support/ground.ts'
import { freshName, onPlace } from './support/on-place.ts'
import { persistent } from './support/persistent.ts'
import { describePlaces } from './support/places.ts'
import { temporaryDirectory } from './support/sqlite-place.ts'

const workers = 10
const rounds = 60

describePlaces('ten connections', (place) => {
  const ground = onPlace(place)

  it('P2: one of ten tries at the same moment is granted, in each of 60 rounds', async () => {
    const { source } = ground()
    const connections = await Promise.all(Array.from({ length: workers }, () => ground().connect()))
    const sharedName = freshName('again')
    let lastToken = 0
    for (let round = 0; round < rounds; round += 1) {
      const name = round % 2 === 0 ? sharedName : freshName('first') // a row that is there, and one that is not
      const owners = connections.map(() => ground().owner())
      const outcomes = await Promise.all(connections.map((connection, worker) =>
        persistent((error) => source.classify(error), () => ground().try(connection, name, { owner: owners[worker]! }))))
      const granted = outcomes.flatMap(({ value }, worker) => value.status === 'granted' ? [{ worker, token: value.fencingToken! }] : [])
      expect(granted).toHaveLength(1)
      const [{ worker, token }] = granted as [{ worker: number; token: number }]
      expect(await source.strategy.inspect(connections[0]!, name)).toMatchObject({ owner: owners[worker] })
      if (name === sharedName) {
        expect(token).toBeGreaterThan(lastToken)
        lastToken = token
      }
      expect(await source.strategy.release(connections[worker]!, { name, owner: owners[worker]!, fencingToken: token })).toEqual({ status: 'released' })
    }
  })
})

describe.each(['one statement', 'in steps'])('ten processes on one SQLite file, %s', (way) => {
  it('P2: one of ten tries at the same moment is granted, in each of 60 rounds', async () => {
    const directory = temporaryDirectory()
    onTestFinished(() => directory.remove())
    const file = join(directory.path, 'race.db')
    const ground = new Ground(sqlite({ file }))
    await ground.createLockTable()
    // Every other row is there and expired: taken over, not made.
    const connection = await ground.connect()
    for (let round = 0; round < rounds; round += 2) await ground.take(connection, lockName(namespace, 'user', `round-${round}`), { leaseMs: 1 })
    ground.destroyAll()

    const children = Array.from({ length: workers }, () => spawnNode(new URL('./processes/contender.ts', import.meta.url), [file, way, String(rounds), '20']))
    await Promise.all(children.map((child) => child.line(({ ready }) => ready === true, 60_000)))
    const startsAt = Date.now() + 100
    for (const child of children) child.send(startsAt)
    for (const child of children) expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null })
    const results = children.flatMap(({ lines }) => lines.slice(1) as unknown as ({ round: number; tries: number } & LockOutcome)[])
    expect(results).toHaveLength(workers * rounds)
    for (let round = 0; round < rounds; round += 1) {
      const statuses = results.filter((result) => result.round === round).map(({ status }) => status)
      expect(statuses.filter((status) => status === 'granted'), `round ${round}`).toHaveLength(1)
      expect(statuses.filter((status) => status === 'refused'), `round ${round}`).toHaveLength(workers - 1)
    }
  }, 120_000)
})
