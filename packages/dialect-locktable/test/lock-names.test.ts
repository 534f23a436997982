import { expect, it } from 'vitest'
import { lockName, type LockName } from '@sched/core/spi'
import { namespace } from './support/ground.ts'
import { onPlace } from './support/on-place.ts'
import { describePlaces } from './support/places.ts'

const user = (name: string): LockName => lockName(namespace, 'user', name)

const different: readonly (readonly [string, readonly LockName[]])[] = [
  ['case', ['job', 'Job', 'JOB'].map(user)],
  ['a trailing space', ['job', 'job ', ' job', 'job\t'].map(user)],
  ['kind', [lockName(namespace, 'user', 'report'), lockName(namespace, 'task', 'report'), lockName(namespace, 'core', 'report')]],
  ['namespace', [lockName('blue', 'user', 'report'), lockName('green', 'user', 'report')]],
  ['the last of 255 characters', ['x', 'y'].map((end) => user('n'.repeat(254) + end))],
  ['the last of 255 emoji', ['😀', '😁'].map((end) => user('😀'.repeat(254) + end))],
  ['an accent', ['e', 'é', 'è'].map(user)],
  ['quotes and wildcards', [`it's`, 'it"s', 'it_s', 'it%s', `it''s`, `'; DROP TABLE x; --`].map(user)],
]

describePlaces('lock names', (place) => {
  const ground = onPlace(place)

  it.each(different)('P2: names that differ by %s are different locks', async (_by, names) => {
    const connection = await ground().connect()
    const held = []
    for (const name of names) held.push(await ground().take(connection, name))
    for (const [index, holding] of held.entries()) {
      expect(await ground().try(connection, holding.name)).toEqual({ status: 'refused' })
      expect(await ground().source.strategy.inspect(connection, names[index]!)).toMatchObject({ owner: holding.owner })
    }
    for (const holding of held) expect(await ground().source.strategy.release(connection, holding)).toEqual({ status: 'released' })
  })

  it('P2: the composed and the decomposed form of a name are one lock', async () => {
    const connection = await ground().connect()
    const held = await ground().take(connection, user('caf\u00e9'))
    expect(await ground().try(connection, user('cafe\u0301'))).toEqual({ status: 'refused' })
    await ground().source.strategy.release(connection, held)
  })
})
