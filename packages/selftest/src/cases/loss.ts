import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { allOf, needsBoundedStaleness, needsLockTable, needsSession, needsStore } from '../facts.ts'
import { blockEventLoop } from './block-event-loop.ts'

export const lossCases: readonly ConformanceCase[] = defineGroup('loss', {
  '01': {
    level: 'MUST', title: 'the lock of a session that was ended by the server is free', requires: needsSession, kills: true,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const { name } = await context.take(holder, context.name())
      await context.kill(holder)
      await context.takeWithin(other, name, context.soonMs)
    },
  },
  '02': {
    level: 'MUST', title: 'a session that was ended says so without being asked', requires: needsSession, kills: true,
    async run(context) {
      const connection = await context.open()
      let causes = 0
      assert.equal(typeof connection.onLost, 'function', 'the connection has no onLost')
      connection.onLost?.(() => { causes += 1 })
      await context.kill(connection)
      await context.eventually('onLost is called', context.soonMs, () => causes > 0)
      await context.sleep(100)
      assert.equal(causes, 1, 'onLost is called once')
    },
  },
  '03': {
    level: 'MUST', title: 'a session that was ended does not come back under the same connection', requires: needsSession, kills: true,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      await context.kill(holder)
      await context.takeWithin(other, holding.name, context.soonMs)
      // Time for a client that would open a new session by itself.
      await context.sleep(200)
      const error = await context.refresh(holder, [holding]).then(() => undefined, (reason: unknown) => reason)
      assert.ok(error !== undefined, 'the connection answers after its session was ended: its locks are gone, and it does not know')
      assert.equal(context.source.classify(error), 'connection-lost')
    },
  },
  '04': {
    level: 'MUST', title: 'the library tells a holder whose session was ended, and finds the way back', requires: needsSession, kills: true, leases: 2,
    async run(context) {
      const other = await context.open()
      const locks = context.locks({ leaseMs: 20_000, heartbeatMs: 400 })
      const lease = await locks.acquire(context.name('held').name, { waitMs: 0 })
      const [id] = await context.sessions(context.libraryLabel)
      assert.ok(id !== undefined, `the server lists no session of ${context.libraryLabel}`)
      await context.kill({ ...other, id })
      await context.eventually('the signal is aborted', 400 + context.soonMs, () => lease.signal.aborted)
      assert.deepEqual(await lease.release(), { status: 'lost' })
      const again = await locks.acquire(context.name('again').name, { waitMs: 8_000 })
      assert.deepEqual(await again.release(), { status: 'released' })
    },
  },
  '05': {
    level: 'MUST', title: 'a holder that was frozen past its lease knows at its first look', requires: needsBoundedStaleness, leases: 4,
    async run(context) {
      const other = await context.open()
      const name = context.name()
      const lease = await context.locks().acquire(name.name, { waitMs: 0 })
      assert.equal(lease.signal.aborted, false)
      blockEventLoop(context.leaseMs + 50)
      assert.equal(lease.signal.aborted, true, 'the first look after the freeze found the lease good')
      const { holding } = await context.takeWithin(other, name, context.leaseMs + context.graceMs)
      assert.deepEqual(await lease.release(), { status: 'lost' })
      await context.mustBeRefused(await context.open(), name, 'the successor holds it')
      if (lease.fencingToken !== undefined) assert.ok((holding.fencingToken ?? 0) > lease.fencingToken, 'the successor has no larger token')
    },
  },
  '06': {
    level: 'MUST', title: 'the library keeps a lease for as long as it is needed', leases: 4,
    async run(context) {
      const other = await context.open()
      const name = context.name()
      const leaseMs = context.keptLeaseMs
      const lease = await context.locks({ leaseMs, heartbeatMs: Math.floor(leaseMs / 6) }).acquire(name.name, { waitMs: 0 })
      const endsAt = performance.now() + 1.5 * leaseMs
      while (performance.now() < endsAt) {
        await context.mustBeRefused(other, name, 'the library holds and refreshes it')
        assert.equal(lease.signal.aborted, false, `lost: ${String(lease.signal.reason)}`)
        await context.sleep(100)
      }
      assert.deepEqual(await lease.release(), { status: 'released' })
      await context.mustBeFree(other, name, 'it was released')
    },
  },
  '07': {
    level: 'MUST', title: 'the library tells a holder whose row was taken from under it', requires: allOf(needsLockTable, needsStore), leases: 2,
    async run(context) {
      const { session, tables } = await context.openStore()
      const locks = context.locks({ leaseMs: 20_000, heartbeatMs: 300 })
      const lease = await locks.acquire(context.name().name, { waitMs: 0 })
      const { affected } = await session.run({ text: `UPDATE ${tables.locks} SET lock_owner = ? WHERE lock_owner = ?`, params: ['somebody-else', lease.owner] })
      assert.equal(affected, 1, 'the row of the lock names its owner')
      await context.eventually('the signal is aborted', 300 + context.soonMs, () => lease.signal.aborted)
      assert.deepEqual(await lease.release(), { status: 'lost' })
      await session.run({ text: `DELETE FROM ${tables.locks} WHERE lock_owner = ?`, params: ['somebody-else'] })
    },
  },
  '08': {
    level: 'MUST', title: 'a lease that was lost is not released for its successor', requires: allOf(needsLockTable, needsStore), leases: 2,
    async run(context) {
      const { session, tables } = await context.openStore()
      const [second, third] = [await context.open(), await context.open()]
      const name = context.name()
      const lease = await context.locks({ leaseMs: 20_000, heartbeatMs: 5_000 }).acquire(name.name, { waitMs: 0 })
      await session.run({ text: `UPDATE ${tables.locks} SET expires_at = 0 WHERE lock_owner = ?`, params: [lease.owner] })
      const successor = await context.take(second, name)
      assert.deepEqual(await lease.release(), { status: 'lost' })
      await context.mustBeRefused(third, name, 'the successor holds it')
      assert.equal(await context.isHeld(second, successor), 'mine')
    },
  },
})
