import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { needsServerSessions } from '../facts.ts'

export const connectCases: readonly ConformanceCase[] = defineGroup('connect', {
  '01': {
    level: 'MUST', title: 'the probe names product, version and scope, and each finding its way out',
    async run(context) {
      const probe = await context.source.probe(context.openOptions())
      for (const key of ['product', 'version', 'scope'] as const) assert.match(probe[key], /\S/, `the probe has no ${key}`)
      assert.match(probe.version, /\d/, `the version ${JSON.stringify(probe.version)} has no number in it`)
      for (const { code, message, remedy } of probe.findings) {
        assert.match(code, /^SCHED_[A-Z_]+$/)
        assert.ok(message.trim() !== '' && remedy.trim() !== '', `the finding ${code} has no message or no remedy`)
      }
    },
  },
  '02': {
    level: 'MUST', title: 'two probes agree, and their capabilities are facts that fit together',
    async run(context) {
      const first = await context.source.probe(context.openOptions())
      const second = await context.source.probe(context.openOptions())
      assert.deepEqual(second.capabilities, first.capabilities, 'two probes in a row differ')
      const { kind, boundedStaleness, fencing, maxLocks, clockUncertaintyMs } = first.capabilities
      assert.equal(kind, context.source.capabilities.kind, 'the kind of lock depends on the server')
      assert.ok(kind !== 'lease' || boundedStaleness, 'a lease that does not bound the staleness of its holder is none')
      assert.ok(kind === 'lease' || fencing === 'none', 'the locks of a session have no row that a token could come from')
      assert.ok(Number.isSafeInteger(maxLocks) && maxLocks >= 1, `maxLocks is ${maxLocks}`)
      assert.ok(Number.isFinite(clockUncertaintyMs) && clockUncertaintyMs >= 0, `clockUncertaintyMs is ${clockUncertaintyMs}`)
    },
  },
  '03': {
    level: 'MUST', title: 'the probe leaves no session behind', requires: needsServerSessions,
    async run(context) {
      await context.source.probe(context.openOptions())
      await context.eventually('the sessions of the probe end', context.soonMs, async () => (await context.sessions()).length === 0)
    },
  },
  '04': {
    level: 'MUST', title: 'a connection answers a ping, and rejects it once it is destroyed',
    async run(context) {
      const connection = await context.open()
      await connection.ping()
      connection.destroy()
      await assert.rejects(connection.ping(), 'a destroyed connection answered a ping')
    },
  },
  '05': {
    level: 'MUST', title: 'an opening that was aborted before it began rejects',
    async run(context) {
      await assert.rejects(context.open({ signal: AbortSignal.abort(new Error('aborted by the case')) }), 'a connection was opened although the signal was aborted')
    },
  },
  '06': {
    level: 'MUST', title: 'a connection that arrives after the abort of its opening is destroyed', requires: needsServerSessions,
    async run(context) {
      const opening = Array.from({ length: 4 }, async (_, index) => {
        const abort = new AbortController()
        setTimeout(() => abort.abort(new Error('aborted by the case')), index)
        // Whichever comes first is right; what counts is what is left.
        const connection = await context.open({ signal: abort.signal }).catch(() => undefined)
        connection?.destroy()
      })
      await Promise.all(opening)
      await context.eventually('the connections that came too late are destroyed', context.soonMs, async () => (await context.sessions()).length === 0)
    },
  },
  '07': {
    level: 'MUST', title: 'destroy never throws, may be called again, and works under a statement',
    async run(context) {
      const connection = await context.open()
      const ping = connection.ping().then(() => 'answered', () => 'rejected')
      connection.destroy()
      connection.destroy()
      await ping
      connection.destroy()
      await assert.rejects(connection.ping())
    },
  },
  '08': {
    level: 'MUST', title: 'the operator finds the session by its label and its id', requires: needsServerSessions,
    async run(context) {
      const connection = await context.open()
      const stranger = await context.open({ label: `${context.label}-2` })
      assert.deepEqual(await context.sessions(), [connection.id], 'the sessions with the label of the connection')
      stranger.destroy()
    },
  },
})
