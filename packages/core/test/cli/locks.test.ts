import { describeServer, freshDatabase } from '@sched-dev/databases'
import { createScheduler } from '@sched/core'
import { expect, it } from 'vitest'
import { main } from '../../src/cli/main.ts'

for (const server of ['postgres', 'mysql', 'mariadb'] as const) {
  describeServer(server, ({ url }) => {
    it('P10: sched locks names the instance that holds the gate, and the session that holds the native lock beside it', async () => {
      const database = await freshDatabase(url)
      let end = (): void => undefined
      const scheduler = createScheduler({ url: database.url, namespace: 'cli', signals: false, lockVeto: 'on' })
      const begun = new Promise<void>((begin) => {
        scheduler.task('yearly', { cron: '0 0 1 1 *' }, () => new Promise<void>((resolve) => { end = resolve; begin() }))
      })
      const lines: string[] = []
      const sched = (...args: string[]): Promise<number> => main([...args, '--url', database.url, '--namespace', 'cli'], { out: (text) => { lines.push(text) }, err: (text) => { lines.push(text) } })
      try {
        await scheduler.start()
        const { executionId } = await scheduler.trigger('yearly')
        await begun
        expect([await sched('locks'), await sched('locks', 'yearly', '--json')]).toEqual([0, 0])
        expect(lines[0]).toMatch(new RegExp(`^yearly\\tgate held by \\S+:${process.pid} since \\S+Z for ${executionId}\\tlock held by `))
        expect(JSON.parse(lines[1] as string)).toMatchObject([{ task: 'yearly', gate: { executionId, alive: true }, lock: { sessionId: expect.anything() as unknown } }])
        end()
        await scheduler.stop()
        expect(await sched('locks', 'yearly')).toBe(0)
        expect(lines[2]).toBe('yearly\tgate free\tlock free\n')
      } finally {
        end()
        await scheduler.stop()
        await database.drop()
      }
    })
  })
}
