import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describePrivateMysql } from '@sched-dev/databases'
import type { Ledger } from '../../core/src/ledger/ledger.ts'
import { migrate } from '../../core/src/ledger/migrate.ts'
import { insertSlot } from '../../core/src/ledger/slot.ts'
import { tableNames } from '../../core/src/ledger/tables.ts'
import { StoreSession } from '../../core/src/session/store-session.ts'
import { systemClock } from '../../core/src/time/clock.ts'
import type { SqlSession } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { onlooker, sessionOptions } from './support/scene.ts'

describePrivateMysql(['mysql', 'mariadb', 'mariadb-oldest'], (start, template) => {
  it('P1: one winner per fire time among many, no deadlock, and no line for losers in the server\'s log', async () => {
    await using server = await start(template === 'mysql' ? { settings: { 'innodb-print-all-deadlocks': 'ON' } } : { settings: { 'innodb-print-all-deadlocks': 'ON', 'log-warnings': 4 } })
    const dialect = mysql({ url: server.url })
    const store = (): StoreSession => new StoreSession<SqlSession>({
      clock: systemClock, random: Math.random, label: 'race', callMs: 10_000, sharedSessions: false, sql: (raw) => raw, classify: (error) => dialect.store!.classify(error),
      open: (signal) => dialect.store!.open('store', { ...sessionOptions({ signal }), statementMs: 8_000, rowLockMs: 5_000 }), // a loser waits for the winner's commit
    })
    const tables = tableNames(fragments)
    const ledgers: Ledger[] = Array.from({ length: 8 }, () => ({ namespace: 'race', tables, sql: fragments, overrides: {}, store: store() }))
    await migrate({ sql: fragments, tables, tableOptions: {}, session: ledgers[0]!.store, clock: systemClock })
    const looker = await onlooker(server.url)
    await looker.query("INSERT INTO sched_tasks (namespace, task_name, definition_hash, revision, spec, defined_by, state, armed_from, fencing_token) VALUES ('race', 'täsk', 'hash', 1, '{}', 'node', 'active', 0, 0)")
    const deadlocks = async (): Promise<number> => Number((await looker.query(template === 'mysql'
      ? "SELECT COUNT AS n FROM information_schema.innodb_metrics WHERE NAME = 'lock_deadlocks'"
      : "SELECT VARIABLE_VALUE AS n FROM information_schema.global_status WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'"))[0]?.['n'] ?? 0)
    // A server that has just started goes on telling of itself.
    const log = (): string[] => readFileSync(join(server.folder, 'log'), 'utf8').split('\n').filter((line) => !/buffer pool\(s\) load/i.test(line))
    const before = { deadlocks: await deadlocks(), lines: log().length }

    const base = Date.now() + 60_000
    for (let round = 0; round < 100; round++) {
      const fireTime = base + round
      const outcomes = await Promise.all(ledgers.map((ledger) => insertSlot(ledger, { executionId: randomUUID(), taskName: 'täsk', definitionHash: 'hash', fireTime, dueAt: fireTime, maxClaimAgeMs: 60_000, toleranceMs: 600_000 })))
      expect(outcomes.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 7 }, () => 'taken'), 'won'])
    }
    expect(await deadlocks() - before.deadlocks).toBe(0)
    expect(log().slice(before.lines)).toEqual([])
    for (const ledger of ledgers) ledger.store.close()
    await looker.query("SELECT GET_LOCK('still there', 0)")
    await new Promise((resolve) => { setTimeout(resolve, 300) })
    expect(log().slice(before.lines).filter((line) => /abort/i.test(line))).toEqual([]) // a session of ours says goodbye
  }, 90_000)
})
