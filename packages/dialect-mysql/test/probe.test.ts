import promiseApi from 'mysql2/promise'
import { describe, expect, it } from 'vitest'
import { describePrivateMysql, describeServer } from '@sched-dev/databases'
import type { Probe } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { engineOf } from '../src/probe/engine.ts'
import { readUrl } from '../src/connect/url.ts'
import { emptyDatabase, eventually, onlooker, openOptions, singleServers } from './support/scene.ts'

const refusals = ({ findings }: Pick<Probe, 'findings'>): string[] => findings.filter(({ level }) => level === 'refuse').map(({ code }) => code)
const warnings = ({ findings }: Pick<Probe, 'findings'>): string[] => findings.filter(({ level }) => level === 'warn').map(({ code }) => code)

describeServer(singleServers, ({ name: server, url: serverUrl }) => {
  it('P11: finds a safe set-up safe, with locks that the server ends', async () => {
    const url = await emptyDatabase(serverUrl)
    const dialect = mysql({ url })
    const probe = await dialect.locks.probe(openOptions())
    expect(probe).toMatchObject({
      product: server === 'mysql' ? 'MySQL' : 'MariaDB', scope: new URL(url).pathname.slice(1), sharedSessions: false, findings: [],
      capabilities: { kind: 'session', boundedStaleness: true, serverSideWait: true, fencing: 'none', inspection: true, scope: 'instance', clockUncertaintyMs: 0 },
    })
    expect(probe.version).toMatch(/^\d+\.\d+\.\d+$/)
    expect((await dialect.store!.probe(openOptions())).findings).toEqual([])
  })

  it('leaves no connection behind, nor when it is aborted', async () => {
    const url = await emptyDatabase(serverUrl)
    const looker = await onlooker(url)
    await mysql({ url }).locks.probe(openOptions())
    for (const ms of [0, 3, 8, 15]) {
      await mysql({ url }).locks.probe(openOptions({ signal: AbortSignal.timeout(ms) })).catch((error: unknown) => { expect(error).toMatchObject({ name: 'TimeoutError' }) })
    }
    await eventually(async () => (await looker.query('SELECT 1 FROM information_schema.processlist WHERE db = DATABASE()')).length <= 1)
  })

  it('P11: an account without privileges can probe, and a URL without a database is told what is missing', async () => {
    const looker = await onlooker(serverUrl)
    const account = `plain_${Date.now().toString(36)}`
    await looker.query(`CREATE USER '${account}'@'%' IDENTIFIED BY 'only-for-this-test'`)
    try {
      const url = new URL(serverUrl)
      Object.assign(url, { username: account, password: 'only-for-this-test', pathname: '' })
      const probe = await mysql({ url: url.href }).store!.probe(openOptions())
      expect([refusals(probe), warnings(probe), probe.scope]).toEqual([[], ['SCHED_SCHEMA_MISSING'], ''])
    } finally {
      await looker.query(`DROP USER '${account}'@'%'`)
    }
  })
})

describeServer(['galera-1', 'galera-2'], ({ url }) => {
  it('P11: refuses native locks on a node of a Galera cluster, and takes the ledger with a warning about its clocks', async () => {
    const dialect = mysql({ url })
    const probe = await dialect.locks.probe(openOptions())
    expect(refusals(probe)).toEqual(['SCHED_UNSAFE_CLUSTER'])
    expect(probe.findings[0]).toMatchObject({ message: expect.stringContaining('wsrep_on') as string, remedy: expect.stringContaining('locktable+mariadb://') as string })
    const store = await dialect.store!.probe(openOptions())
    expect([refusals(store), warnings(store)]).toEqual([[], ['SCHED_UNSAFE_CLUSTER']])
  })
})

describePrivateMysql(['mysql', 'mariadb'], (start, template) => {
  it('P11: refuses a read-only server and a replica, of the two that MariaDB grants locks on, and warns of what loses rows', async () => {
    await using server = await start({ settings: { 'innodb-flush-log-at-trx-commit': 2, 'max-connections': 12, 'server-id': 7 } })
    const dialect = mysql({ url: server.url })
    const looker = await onlooker(server.url)
    const store = await dialect.store!.probe(openOptions())
    expect([refusals(store), warnings(store)]).toEqual([[], ['SCHED_UNSAFE_LIMIT', 'SCHED_UNSAFE_ENGINE']])
    expect(store.findings.map(({ message }) => message).join('\n')).toMatch(/12 connections[^]*innodb_flush_log_at_trx_commit is 2/)

    for (const variable of template === 'mysql' ? ['read_only', 'super_read_only'] : ['read_only']) {
      await looker.query(`SET GLOBAL ${variable} = ON`)
      const probe = await dialect.locks.probe(openOptions())
      expect(refusals(probe)).toEqual(['SCHED_UNSAFE_READ_ONLY'])
      expect(probe.findings.find(({ level }) => level === 'refuse')?.message).toContain(variable)
      expect(refusals(await dialect.store!.probe(openOptions()))).toEqual(['SCHED_UNSAFE_READ_ONLY'])
      expect((await looker.query("SELECT GET_LOCK('granted all the same', 0) AS g"))[0]?.['g']).toBe(1)
      await looker.query(`SET GLOBAL ${variable} = OFF`)
    }
    await looker.query('SET GLOBAL read_only = OFF')
    await looker.query(template === 'mysql' ? "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'x'" : "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'x'")
    const probe = await dialect.locks.probe(openOptions())
    expect(refusals(probe)).toEqual(['SCHED_UNSAFE_READ_ONLY'])
    expect(probe.findings.find(({ level }) => level === 'refuse')?.message).toContain('replica')
  }, 60_000)
})

describePrivateMysql('mysql', (start) => {
  it('P11: goes through caching_sha2_password over plain TCP, TLS and a socket, and through a pool with TLS', async () => {
    await using server = await start()
    const looker = await onlooker(server.url)
    const account = readUrl(server.url)
    expect((await looker.query("SELECT plugin FROM mysql.user WHERE user = 'sched'"))[0]?.['plugin']).toBe('caching_sha2_password')
    for (const parameters of ['?ssl-mode=REQUIRED', `?socketPath=${encodeURIComponent(`${server.folder}/my.sock`)}`, '?ssl-mode=DISABLED']) {
      await looker.query('FLUSH PRIVILEGES') // forgets what it had cached, so that the whole exchange runs
      expect(refusals(await mysql({ url: server.url + parameters }).locks.probe(openOptions()))).toEqual([])
    }
    const pool = promiseApi.createPool({ ...account, ssl: { rejectUnauthorized: false } })
    const dialect = mysql({ pool })
    const session = await dialect.store!.open('store', { ...openOptions(), statementMs: 1_000, rowLockMs: 1_000, sharedSessions: false })
    expect((await session.run({ text: "SHOW SESSION STATUS LIKE 'Ssl_cipher'", params: [] })).rows[0]?.['value']).toMatch(/\w+/)
    const causes: Error[] = []
    session.onLost?.((cause) => { causes.push(cause) })
    await looker.query(`KILL ${session.id}`)
    await eventually(async () => causes.length === 1) // also where the stream is one of TLS
    await pool.end()
  }, 60_000)
})

describe('a server that speaks the protocol but is neither MySQL nor MariaDB, by the words of its documentation (P11)', () => {
  it.each([
    ['9.7.4-2', '(Debian)', 'MySQL', '9.7.4', [], []],
    ['8.0.36-28', 'Percona Server (GPL), Release 28', 'MySQL', '8.0.36', [], []],
    ['8.0.mysql_aurora.3.05.2', 'Source distribution', 'MySQL', '8.0', [], []],
    ['8.0.32', 'Source distribution', 'MySQL', '8.0.32', [], []],
    ['10.11.19-MariaDB-0+deb12u1', 'Debian 12', 'MariaDB', '10.11.19', [], []],
    ['5.5.5-10.5.29-MariaDB', '', 'MariaDB', '10.5.29', [], []],
    ['8.0.11-TiDB-v8.5.0', 'TiDB Server (Apache License 2.0)', 'TiDB', '8.5.0', ['refuse'], ['warn']],
    ['8.0.30-Vitess', 'Version: 19.0.4', 'Vitess', '19.0.4', ['refuse'], ['refuse']],
    ['5.7.25-OceanBase_CE-v4.3.5.0', 'OceanBase_CE 4.3.5.0', 'OceanBase', '4.3.5.0', ['refuse'], ['warn']],
    ['5.6.29-TDDL-5.4.19', 'Tddl Server', 'PolarDB-X', '5.4.19', ['refuse'], ['warn']],
    ['5.7.32', 'SingleStoreDB source distribution', 'SingleStore', '(version unknown)', ['refuse'], ['refuse']],
    ['8.0.33', 'Dolt', 'Dolt', '(version unknown)', ['refuse'], ['refuse']],
    ['8.0.11', '(ProxySQL)', 'ProxySQL', '(version unknown)', ['refuse'], ['warn']],
    ['5.5.5-10.4.32 23.08.5-maxscale', '', 'MaxScale', '(version unknown)', ['refuse'], ['warn']],
    ['5.1.0', 'StarRocks version 3.3', 'Doris or StarRocks', '3.3', ['refuse'], ['refuse']],
    ['SomethingElse', '', 'unknown', '(version unknown)', ['refuse'], ['refuse']],
  ])('is named, and its locks are refused: %s %s', (version, comment, product, number, locks, store) => {
    const engine = engineOf(version, comment)
    expect(engine).toMatchObject({ product, version: number, genuine: product === 'MySQL' || product === 'MariaDB' })
    expect(engine.findings.locks.map(({ level }) => level)).toEqual(locks)
    expect(engine.findings.store.map(({ level }) => level)).toEqual(store)
    for (const finding of [...engine.findings.locks, ...engine.findings.store]) expect(finding).toMatchObject({ code: 'SCHED_UNSAFE_ENGINE', remedy: expect.stringMatching(/\.$/) as string })
  })
})
