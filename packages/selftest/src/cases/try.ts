import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'

export const tryCases: readonly ConformanceCase[] = defineGroup('try', {
  '01': {
    level: 'MUST', title: 'a free lock is granted, and the server says that it is held',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      assert.equal(await context.isHeld(connection, holding), 'mine')
    },
  },
  '02': {
    level: 'MUST', title: 'a held lock is refused to every other connection',
    async run(context) {
      const [holder, second, third] = [await context.open(), await context.open(), await context.open()]
      const { name } = await context.take(holder, context.name())
      await context.mustBeRefused(second, name, 'another connection holds it')
      await context.mustBeRefused(third, name, 'another connection holds it')
      await context.mustBeRefused(second, name, 'another connection still holds it')
    },
  },
  '03': {
    level: 'MUST', title: 'a refusal comes at once: trying never waits',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const { name } = await context.take(holder, context.name())
      const tookMs = await context.quickest(context.promptMs, () => context.mustBeRefused(other, name, 'another connection holds it'))
      assert.ok(tookMs < context.promptMs, `the refusal took ${Math.round(tookMs)} ms`)
    },
  },
  '04': {
    level: 'MUST', title: 'locks with different names do not touch each other',
    async run(context) {
      const [first, second] = [await context.open(), await context.open()]
      await context.take(first, context.name('a'))
      await context.take(second, context.name('b'))
      await context.take(first, context.name('c'))
    },
  },
  '05': {
    level: 'MUST', title: 'a refused try leaves the holder its lock',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      await context.mustBeRefused(other, holding.name, 'another connection holds it')
      assert.equal(await context.isHeld(holder, holding), 'mine', 'the holder has lost its lock to a try that was refused')
      assert.deepEqual(await context.release(holder, holding), { status: 'released' })
    },
  },
  '06': {
    level: 'MUST', title: 'a refused try does not come true later',
    async run(context) {
      const [holder, refused, third] = [await context.open(), await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      await context.mustBeRefused(refused, holding.name, 'another connection holds it')
      await context.release(holder, holding)
      await context.sleep(50)
      await context.mustBeFree(third, holding.name, 'its holder has released it, and nobody took it since')
    },
  },
  '07': {
    level: 'MUST', title: 'a lock changes hands again and again',
    async run(context) {
      const connections = [await context.open(), await context.open()] as const
      const name = context.name()
      for (let round = 0; round < 20; round += 1) {
        const [holder, other] = round % 2 === 0 ? connections : [connections[1], connections[0]]
        const holding = await context.take(holder, name)
        await context.mustBeRefused(other, name, `it is held in round ${round}`)
        assert.deepEqual(await context.release(holder, holding), { status: 'released' }, `the release of round ${round}`)
      }
    },
  },
})
