import { describe, expect, it } from 'vitest'
import { createLocks, createScheduler } from '@sched/core'
import { lockTable } from '@sched/dialect-locktable'
import type { Probe } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { openLocks, openOptions } from './support/scene.ts'
import { standIn } from './support/stand-in.ts'

const refusals = ({ findings }: Pick<Probe, 'findings'>): string[] => findings.filter(({ level }) => level === 'refuse').map(({ code }) => code)
const warnings = ({ findings }: Pick<Probe, 'findings'>): string[] => findings.filter(({ level }) => level === 'warn').map(({ code }) => code)
const plain = { 'SELECT DATABASE()': [{ name: 'app' }], 'SHOW REPLICA STATUS': [], 'SHOW SLAVE STATUS': [], 'SHOW ALL SLAVES STATUS': [] }

/** None of these is the product itself: see support/stand-in.ts. */
describe('P11, against a handshake stand-in (no such product here)', () => {
  it.each([
    ['TiDB', { version: '8.0.11-TiDB-v8.5.0', version_comment: 'TiDB Server (Apache License 2.0)' }, ['SCHED_UNSAFE_ENGINE'], [], ['SCHED_UNSAFE_ENGINE']],
    ['Vitess', { version: '8.0.30-Vitess' }, ['SCHED_UNSAFE_ENGINE'], ['SCHED_UNSAFE_ENGINE'], []],
    ['OceanBase', { version: '5.7.25-OceanBase_CE-v4.3.5.0', version_comment: 'OceanBase_CE 4.3.5.0' }, ['SCHED_UNSAFE_ENGINE'], [], ['SCHED_UNSAFE_ENGINE']],
    ['ProxySQL', { version: '8.0.36', version_comment: '(ProxySQL)' }, ['SCHED_UNSAFE_ENGINE'], [], ['SCHED_UNSAFE_ENGINE']],
    ['MaxScale', { version: '10.11.6 24.02.1-maxscale-MariaDB' }, ['SCHED_UNSAFE_ENGINE'], [], ['SCHED_UNSAFE_ENGINE']],
    ['MySQL 5.7.4', { version: '5.7.4-m14' }, ['SCHED_UNSUPPORTED_VERSION'], ['SCHED_UNSUPPORTED_VERSION'], []],
    ['MySQL 5.7.44', { version: '5.7.44' }, [], [], ['SCHED_UNSUPPORTED_VERSION']],
    ['MariaDB 10.0.1', { version: '10.0.1-MariaDB' }, ['SCHED_UNSUPPORTED_VERSION'], ['SCHED_UNSUPPORTED_VERSION'], []],
    ['MariaDB 5.5', { version: '5.5.68-MariaDB' }, ['SCHED_UNSUPPORTED_VERSION'], ['SCHED_UNSUPPORTED_VERSION'], []],
    ['a reader of Aurora', { version: '8.0.32', innodb_read_only: 'ON' }, ['SCHED_UNSAFE_READ_ONLY'], ['SCHED_UNSAFE_READ_ONLY'], []],
  ] as const)('%s: locks and ledger each get their verdict, with a way out', async (_title, variables, locks, store, warned) => {
    const dialect = mysql({ url: await standIn({ variables, answers: plain }) })
    const [probedLocks, probedStore] = [await dialect.locks.probe(openOptions()), await dialect.store!.probe(openOptions())]
    expect([refusals(probedLocks), refusals(probedStore), warnings(probedStore)]).toEqual([locks, store, warned])
    for (const { message, remedy } of [...probedLocks.findings, ...probedStore.findings]) {
      expect([message, remedy]).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/\.$/)])
    }
  })

  it.each([['single', 'ON', 3], ['multi', 'OFF', 3], ['of one', 'ON', 1]])('Group Replication, %s-primary: native locks are refused, the ledger is warned of several clocks', async (_mode, single, members) => {
    const url = await standIn({
      variables: { version: '8.4.2', group_replication_group_name: 'a9a5f8c1-0000-4000-8000-000000000001', group_replication_single_primary_mode: single },
      answers: { ...plain, 'SELECT COUNT(*) AS members': [{ members: String(members) }] },
    })
    expect(refusals(await mysql({ url }).locks.probe(openOptions()))).toEqual(['SCHED_UNSAFE_CLUSTER'])
    const store = await mysql({ url }).store!.probe(openOptions())
    expect([refusals(store), warnings(store)]).toEqual([[], members > 1 ? ['SCHED_UNSAFE_CLUSTER'] : []])
  })

  it('a proxy that does not say what it is: given away by the session\'s two ids', async () => {
    const url = await standIn({ variables: { version: '8.0.36' }, handshakeId: 7, answers: plain })
    const locks = await mysql({ url }).locks.probe(openOptions())
    expect([refusals(locks), locks.sharedSessions]).toEqual([['SCHED_UNSAFE_POOLER'], true])
    const store = await mysql({ url }).store!.probe(openOptions())
    expect([refusals(store), warnings(store), store.sharedSessions]).toEqual([[], ['SCHED_UNSAFE_POOLER'], true])
    await expect(openLocks({ url }, { sharedSessions: true })).rejects.toMatchObject({ code: 'SCHED_UNSAFE_POOLER' })
  })

  it('createLocks and createScheduler stop at the refusal, with its code and without the password', async () => {
    const url = await standIn({ variables: { version: '8.0.30-Vitess' }, answers: plain })
    const locks = createLocks({ dialect: mysql({ url }) })
    const refused = { code: 'SCHED_UNSAFE_ENGINE', message: expect.not.stringContaining('sched-test-only') as string }
    await expect(locks.tryAcquire('x')).rejects.toMatchObject(refused)
    await locks.close()
    const table = createLocks({ dialect: lockTable(mysql({ url })) })
    await expect(table.tryAcquire('x')).rejects.toMatchObject(refused)
    await table.close()
    const scheduler = createScheduler({ dialect: mysql({ url }), signals: false })
    await expect(scheduler.start()).rejects.toMatchObject(refused)
    await scheduler.stop()
  })
})
