import { expect, it } from 'vitest'
import type { Connection } from 'mysql2/promise'
import { describePrivateMysql, describeServer } from '@sched-dev/databases'
import { mysql } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { emptyDatabase, everyServer, openStore } from './support/scene.ts'

const clock = { text: `SELECT ${fragments.nowMs} AS n${fragments.dual}`, params: [] }

describeServer(everyServer, ({ url: serverUrl }) => {
  it('P9: reads the server\'s clock in epoch milliseconds in any time zone, and it moves inside a transaction', async () => {
    const session = await openStore(mysql<Connection>({ url: await emptyDatabase(serverUrl) }), 'transaction')
    const read = async (): Promise<number> => (await session.run(clock)).rows[0]?.['n'] as number
    await session.begin()
    const first = await read()
    for (const zone of ['+08:00', 'America/New_York', 'Europe/London', '-12:00', '+13:00']) {
      await session.client.query(`SET time_zone = '${zone}'`)
      expect(Math.abs(await read() - Date.now())).toBeLessThan(5_000)
    }
    await session.client.query('SELECT SLEEP(0.02)')
    expect(await read() - first).toBeGreaterThanOrEqual(20)
    await session.run({ text: `CREATE TEMPORARY TABLE clock AS ${clock.text}`, params: [] })
    expect((await session.run({ text: "SHOW COLUMNS FROM clock WHERE type LIKE 'bigint%'", params: [] })).rows).toHaveLength(1)
  })
})

// Europe/London: an hour is skipped at 2026-03-29 01:00 UTC, and another comes twice at 2026-10-25 01:00 UTC. New York: 2026-03-08 07:00, 2026-11-01 06:00.
const changes = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z', '2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'].map((text) => Date.parse(text))

describePrivateMysql(['mysql', 'mariadb', 'mariadb-oldest'], (start) => {
  it('P9: knows no daylight saving: a second is a second across every change of the server\'s and the session\'s zone', async () => {
    await using server = await start({ timeZone: 'Europe/London' })
    const session = await openStore(mysql<Connection>({ url: server.url }), 'transaction')
    expect((await session.run({ text: 'SELECT @@system_time_zone AS z, @@time_zone AS t', params: [] })).rows).toEqual([{ z: expect.stringMatching(/GMT|BST/) as string, t: 'SYSTEM' }])
    for (const zone of ['SYSTEM', '+08:00', 'America/New_York']) {
      await session.client.query(`SET time_zone = '${zone}'`)
      for (const change of changes) {
        for (const offsetMs of [-3_600_001, -1, 0, 1, 1_800_000, 3_600_000, 7_200_500]) {
          // What the statement's own clock says. https://dev.mysql.com/doc/refman/9.7/en/server-system-variables.html#sysvar_timestamp
          await session.client.query(`SET timestamp = ${(change + offsetMs) / 1_000}`)
          expect([zone, change, offsetMs, (await session.run(clock)).rows]).toEqual([zone, change, offsetMs, [{ n: change + offsetMs }]])
        }
      }
    }
  }, 90_000)
})
