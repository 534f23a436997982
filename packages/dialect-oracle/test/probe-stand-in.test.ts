import type { Finding } from '@sched/core/spi'
import { describe, expect, it } from 'vitest'
import { oracle } from '../src/index.ts'
import type { ServerOptionsStandIn } from './stand-in/server-options-stand-in.ts'
import { Ground } from './support/ground.ts'

async function findings(options: ServerOptionsStandIn): Promise<{ locks: readonly Finding[]; store: readonly Finding[] }> {
  const ground = await Ground.start(options)
  const { locks, store } = ground.dialect
  return { locks: (await locks.probe(ground.openOptions())).findings, store: (await store?.probe(ground.openOptions()))?.findings ?? [] }
}

const refused = (code: string): unknown => expect.arrayContaining([expect.objectContaining({ level: 'refuse', code })])
const warned = (code: string, text: string): unknown => expect.arrayContaining([expect.objectContaining({ level: 'warn', code, message: expect.stringContaining(text) as string })])

describe('stand-in at the wire: the probe', () => {
  it('finds nothing to say of an ordinary database, and leaves no session behind', async () => {
    const ground = await Ground.start()
    const probe = await ground.dialect.locks.probe(ground.openOptions())
    expect(probe).toMatchObject({ product: 'Oracle Database', scope: 'standinpdb/app', sharedSessions: false, findings: [] })
    expect(probe.capabilities).toMatchObject({ kind: 'session', boundedStaleness: false, serverSideWait: true, inspection: true, scope: 'database', clockUncertaintyMs: 0 })
    await expect.poll(() => ground.server.sessions.size).toBe(0)
  })

  it.each([{ role: 'PHYSICAL STANDBY' }, { role: 'LOGICAL STANDBY' }, { openMode: 'READ ONLY' }, { openMode: 'READ ONLY WITH APPLY' }])('refuses what takes no writes: %j', async (options) => {
    const { locks, store } = await findings(options)
    expect(locks).toEqual(refused('SCHED_UNSAFE_READ_ONLY'))
    expect(store).toEqual(refused('SCHED_UNSAFE_READ_ONLY'))
  })

  it('refuses native locks without EXECUTE on DBMS_LOCK, with the statement to run, and takes the ledger', async () => {
    const { locks, store } = await findings({ mayLock: false })
    expect(locks).toEqual(refused('SCHED_PERMISSION'))
    expect(locks.map(({ remedy }) => remedy).join()).toContain('GRANT EXECUTE ON SYS.DBMS_LOCK TO <user>')
    expect(store).toEqual([])
  })

  it('says that nobody can be told who holds a lock where the views are not granted', async () => {
    const ground = await Ground.start({ maySeeSessions: false })
    const probe = await ground.dialect.locks.probe(ground.openOptions())
    expect(probe.capabilities.inspection).toBe(false)
    expect(probe.findings).toEqual(warned('SCHED_CAPABILITY_MISSING', 'gv$lock'))
  })

  it('allows for several clocks in a cluster', async () => {
    const ground = await Ground.start({ cluster: true })
    const probe = await ground.dialect.locks.probe(ground.openOptions())
    expect(probe.capabilities.clockUncertaintyMs).toBe(500)
    expect(probe.findings).toEqual(warned('SCHED_UNSAFE_CLUSTER', 'RAC'))
  })

  it('warns of the root of a container database, of an Autonomous Database, and of a profile with limits', async () => {
    expect((await findings({ container: 'CDB$ROOT' })).store).toEqual(warned('SCHED_UNSAFE_ENGINE', 'CDB$ROOT'))
    expect((await findings({ cloudService: 'OLTP' })).store).toEqual(warned('SCHED_UNSAFE_ENGINE', 'Autonomous'))
    const limited = await findings({ limits: { IDLE_TIME: '15', CONNECT_TIME: '60', SESSIONS_PER_USER: '3' } })
    expect(limited.store).toEqual(warned('SCHED_UNSAFE_LIMIT', 'IDLE_TIME'))
    expect(limited.locks).toEqual(warned('SCHED_UNSAFE_LIMIT', 'CONNECT_TIME'))
    expect(limited.locks).toEqual(warned('SCHED_UNSAFE_LIMIT', 'SESSIONS_PER_USER'))
  })

  it('warns of a character set that cannot write every name', async () => {
    expect((await findings({ characterSet: 'WE8MSWIN1252' })).store).toEqual(warned('SCHED_UNSAFE_LIMIT', 'WE8MSWIN1252'))
  })

  it('works on a server that does not know CLOUD_SERVICE, and refuses one before 12.1', async () => {
    expect((await findings({ knowsCloudService: false, version: '12.1.0.2.0' })).locks).toEqual([])
    expect((await findings({ version: '11.2.0.4.0' })).locks).toEqual(refused('SCHED_UNSUPPORTED_VERSION'))
  })

  it('refuses native locks on a pooled server', async () => {
    const ground = await Ground.start({ service: 'standin' })
    const { user = 'app', password = 'stand-in-password' } = ground.server.options
    const pooled = oracle({ config: { user, password, connectString: `(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT=${ground.wire.port}))(CONNECT_DATA=(SERVICE_NAME=standin)(SERVER=POOLED)))` } })
    // What a pooled server would answer is not modelled: the connect string alone decides, before anything is asked.
    const { asksForPooledServer } = await import('../src/connect/connector.ts')
    expect(asksForPooledServer('db.example.com/orders:pooled')).toBe(true)
    expect(asksForPooledServer('(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=a)(SERVER = POOLED)))')).toBe(true)
    expect(asksForPooledServer('db.example.com/pooled')).toBe(false)
    await pooled.close()
  })
})
