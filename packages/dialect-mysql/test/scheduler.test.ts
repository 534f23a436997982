import { expect, it } from 'vitest'
import { describePrivateMysql, describeServer } from '@sched-dev/databases'
import { emptyDatabase, eventually, onlooker, singleServers } from './support/scene.ts'
import { Cluster, createEffects, noFaults } from './support/cluster.ts'

describeServer(singleServers, ({ url: serverUrl }) => {
  it('P1, P2, P6, P8: three instances, one killed and one frozen past its lease: each fire time starts once, effects are written once', async () => {
    const cluster = new Cluster(await emptyDatabase(serverUrl))
    await createEffects(cluster.url)
    const [killed, frozen] = [cluster.add(), cluster.add(), cluster.add()] as const
    await cluster.started()
    await cluster.runs(3)
    await killed.line(({ kind }) => kind === 'start', 20_000, killed.lines.at(-1))
    await killed.kill()
    await frozen.line(({ kind }) => kind === 'start', 30_000, frozen.lines.at(-1))
    await frozen.freeze()
    await new Promise((resolve) => { setTimeout(resolve, 5_000) })
    await eventually(async () => cluster.lines('execution.recovered').length >= 1, 20_000)
    frozen.thaw()
    await frozen.line(({ kind }) => kind === 'node.lost', 30_000)
    await cluster.runs(3)
    await Promise.all(cluster.instances.slice(1).map(async (child) => { child.send('stop'); await child.exited }))
    expect(await cluster.faults()).toEqual(noFaults)
    expect(cluster.lines('warning')).toEqual([])
    const looker = await cluster.looker()
    expect((await looker.query("SELECT state FROM sched_executions WHERE state NOT IN ('succeeded', 'skipped', 'missed') AND NOT (state = 'retry' AND attempt_reason = 'interrupted')"))).toEqual([])
  }, 120_000)

  it('P9: a Node in another zone than server and session, with a clock that is off by hours, fires by the database\'s clock', async () => {
    const { shiftedClock } = await import('@sched-dev/databases')
    const cluster = new Cluster(await emptyDatabase(serverUrl))
    await createEffects(cluster.url)
    const shifted = shiftedClock(3 * 3_600_000)
    cluster.add({}, { ...shifted, env: { ...shifted.env, TZ: 'America/New_York' } })
    cluster.add({}, { env: { TZ: 'Asia/Shanghai' } })
    await cluster.started()
    await cluster.runs(5)
    const late = cluster.lines('start').map(({ at, fireTime }) => at - fireTime) // `at` is real time, the server's too
    await cluster.stop()
    expect(Math.max(...late.map(Math.abs))).toBeLessThan(60_000) // not off by hours
    expect(await cluster.faults()).toEqual(noFaults)
  }, 120_000)
})

describePrivateMysql(['mysql', 'mariadb', 'mariadb-oldest'], (start, template) => {
  it('P1, P2, P6, P8: the server is killed, restarted, frozen, and read-only for a while: the schedule goes on after each, and nothing is doubled', async () => {
    await using server = await start({ timeZone: 'Europe/London' })
    const cluster = new Cluster(server.url)
    await createEffects(server.url)
    // An account that read_only stops, unlike one that may do everything.
    const looker = await onlooker(server.url)
    await looker.query("CREATE USER 'app'@'%' IDENTIFIED BY 'only-for-this-test'")
    await looker.query("GRANT ALL ON test.* TO 'app'@'%'")
    const url = new URL(server.url)
    Object.assign(url, { username: 'app', password: 'only-for-this-test' })
    const apps = new Cluster(url.href)
    apps.add()
    apps.add()
    await apps.started()
    await apps.runs(3)
    for (const mode of ['kill', 'clean'] as const) {
      await server.stop(mode)
      await new Promise((resolve) => { setTimeout(resolve, 1_500) })
      await server.start()
      await apps.runs(3, 60_000)
    }
    await server.freeze()
    await new Promise((resolve) => { setTimeout(resolve, 5_000) })
    server.thaw()
    await apps.runs(3, 60_000)
    await (await onlooker(server.url)).query('SET GLOBAL read_only = ON')
    await eventually(async () => apps.lines('error').some(({ code }) => code === 'SCHED_READ_ONLY'), 20_000)
    await (await onlooker(server.url)).query('SET GLOBAL read_only = OFF')
    await apps.runs(3, 60_000)
    await apps.stop()
    expect(await cluster.faults()).toEqual(noFaults)
    // Every one of these is a type of its own, and none says that somebody else had the work.
    const codes = new Set(apps.lines('error').map(({ code }) => code))
    for (const code of codes) expect(['SCHED_SESSION_LOST', 'SCHED_DATABASE_UNREACHABLE', 'SCHED_QUERY_TIMEOUT', 'SCHED_READ_ONLY', 'SCHED_LEASE_LOST', 'SCHED_LOCK_LOST', 'SCHED_ABORTED', 'SCHED_CONTENDED', 'SCHED_FENCED']).toContain(code)
    expect(JSON.stringify(apps.lines('error'))).not.toContain('only-for-this-test')
    if (template === 'mysql') expect(codes).toContain('SCHED_READ_ONLY')
  }, 240_000)
})
