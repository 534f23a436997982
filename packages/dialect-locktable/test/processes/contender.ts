// Tries for one lock per round, at the same moment as everybody else, and says what came of it.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockName } from '@sched/core/spi'
import { lockTable, sqlite } from '../../src/index.ts'
import { Ground, namespace } from '../support/ground.ts'
import { inSteps } from '../support/in-steps.ts'
import { persistent } from '../support/persistent.ts'

const [file = '', way = '', rounds = '', everyMs = ''] = process.argv.slice(2)
const inner = sqlite({ file })
const ground = new Ground(way === 'in steps' ? inSteps(inner) : lockTable(inner))
const classify = (error: unknown): ReturnType<typeof inner.locks.classify> => inner.locks.classify(error)
const { value: connection } = await persistent(classify, () => ground.connect())
console.log(JSON.stringify({ ready: true }))
const [startsAt] = await once(process.stdin, 'data') as [Buffer] // all are there
for (let round = 0; round < Number(rounds); round += 1) {
  const at = Number(startsAt.toString()) + round * Number(everyMs)
  await sleep(Math.max(0, at - Date.now() - 2))
  while (Date.now() < at) { /* together */ }
  const name = lockName(namespace, 'user', `round-${round}`)
  const { value, tries } = await persistent(classify, () => ground.try(connection, name))
  console.log(JSON.stringify({ round, tries, ...value }))
}
ground.destroyAll()
process.exit()
