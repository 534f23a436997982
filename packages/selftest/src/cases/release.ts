import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { defineGroup, type ConformanceCase } from '../case.ts'

export const releaseCases: readonly ConformanceCase[] = defineGroup('release', {
  '01': {
    level: 'MUST', title: 'a released lock is free at once',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      assert.deepEqual(await context.release(holder, holding), { status: 'released' })
      await context.mustBeFree(other, holding.name, 'it has just been released')
    },
  },
  '02': {
    level: 'MUST', title: 'the second release says that the lock is not held',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      await context.release(connection, holding)
      assert.deepEqual(await context.release(connection, holding), { status: 'not-held' })
    },
  },
  '03': {
    level: 'MUST', title: 'releasing what nobody ever took says that it is not held, and leaves the connection usable',
    async run(context) {
      const connection = await context.open()
      const name = context.name()
      assert.deepEqual(await context.release(connection, { name, owner: randomUUID(), fencingToken: undefined }), { status: 'not-held' })
      await context.mustBeFree(connection, name, 'nobody holds it')
    },
  },
  '04': {
    level: 'MUST', title: 'a release that comes twice does not free the successor',
    async run(context) {
      const [first, second, third] = [await context.open(), await context.open(), await context.open()]
      const old = await context.take(first, context.name())
      await context.release(first, old)
      const successor = await context.take(second, old.name)
      assert.deepEqual(await context.release(first, old), { status: 'not-held' })
      await context.mustBeRefused(third, old.name, 'the successor holds it')
      assert.equal(await context.isHeld(second, successor), 'mine')
    },
  },
  '05': {
    level: 'MUST', title: 'releasing one lock leaves the others of the connection',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const [kept, given, last] = [await context.take(holder, context.name('kept')), await context.take(holder, context.name('given')), await context.take(holder, context.name('last'))]
      await context.release(holder, given)
      await context.mustBeRefused(other, kept.name, 'only its neighbour was released')
      await context.mustBeRefused(other, last.name, 'only its neighbour was released')
      await context.mustBeFree(other, given.name, 'it was released')
    },
  },
})
