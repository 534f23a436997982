import { createScheduler } from '@sched/core'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { main } from '../../src/cli/main.ts'

const folder = mkdtempSync(join(tmpdir(), 'sched-cli-'))
const url = `sqlite:${join(folder, 'sched.db')}`

async function sched(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const code = await main(args, { out: (text) => { out += text }, err: (text) => { err += text } })
  return { code, out, err }
}

const on = (...args: string[]): ReturnType<typeof sched> => sched(...args, '--url', url, '--namespace', 'cli')

beforeAll(async () => {
  const scheduler = createScheduler({ url, namespace: 'cli', signals: false })
  scheduler.task('yearly', { cron: '0 0 1 1 *' }, () => undefined)
  await scheduler.start()
  await scheduler.stop()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the sched command', () => {
  it('lists, pauses and resumes a task', async () => {
    expect(await on('tasks')).toMatchObject({ code: 0, out: 'yearly\tactive\n' })
    expect(await on('pause', 'yearly', '--reason', 'stocktaking')).toMatchObject({ code: 0 })
    expect(await on('pause', 'yearly')).toMatchObject({ code: 1, out: 'yearly is not active.\n' })
    expect((await on('tasks')).out).toBe('yearly\tpaused (stocktaking)\n')
    expect(await on('resume', 'yearly')).toMatchObject({ code: 0 })
    expect((await on('tasks')).out).toBe('yearly\tactive\n')
  })

  it('triggers once per key, cancels what waits, and retries what has failed', async () => {
    const first = await on('trigger', 'yearly', '--key', 'march', '--json')
    const again = await on('trigger', 'yearly', '--key', 'march', '--json')
    const { executionId } = JSON.parse(first.out) as { executionId: string }
    expect(JSON.parse(again.out)).toEqual({ executionId, created: false })
    expect(await on('cancel', executionId)).toMatchObject({ code: 0, out: 'cancelled\n' })
    expect(await on('cancel', executionId)).toMatchObject({ code: 1, out: 'ended\n' })
    const { fireTime } = (JSON.parse((await on('executions', 'yearly', '--json')).out) as { fireTime: number }[])[0] as { fireTime: number }
    expect((await on('explain', 'yearly', new Date(fireTime).toISOString())).out).toBe('failed: SCHED_TASK_CANCELLED, cancelled by hand.\n')
    expect(await on('cancel', 'no-such-id')).toMatchObject({ code: 1, out: 'unknown\n' })
    expect((await on('executions', 'yearly', '--state', 'failed')).out).toContain(executionId)
    expect(await on('retry', executionId)).toMatchObject({ code: 0, out: 'retried\n' })
    expect(await on('retry', executionId)).toMatchObject({ code: 1, out: 'open\n' })
    expect(await on('retry', 'no-such-id')).toMatchObject({ code: 1, out: 'unknown\n' })
    expect((await on('executions', 'yearly', '--state', 'retry')).out).toContain(executionId)
    expect(await on('cancel', executionId)).toMatchObject({ code: 0 })
  })

  it('lists who holds the gates of tasks, and says nothing of a lock where the scheduler takes none', async () => {
    let end = (): void => undefined
    const scheduler = createScheduler({ url, namespace: 'cli', signals: false })
    const begun = new Promise<void>((begin) => {
      scheduler.task('yearly', { cron: '0 0 1 1 *' }, () => new Promise<void>((resolve) => { end = resolve; begin() }))
    })
    await scheduler.start()
    try {
      const { executionId } = await scheduler.trigger('yearly')
      await begun
      expect((await on('locks')).out).toMatch(new RegExp(`^yearly\tgate held by \\S+:${process.pid} since \\S+Z for ${executionId}\n$`))
      expect(JSON.parse((await on('locks', 'yearly', '--json')).out)).toEqual([{ task: 'yearly', gate: expect.objectContaining({ executionId, alive: true }) as object }])
    } finally {
      end()
      await scheduler.stop()
    }
    expect(await on('locks')).toMatchObject({ code: 0, out: '' })
    expect((await on('locks', 'yearly')).out).toBe('yearly\tgate free\n')
    expect(await on('locks', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('SCHED_TASK_UNKNOWN') as string })
  })

  it('P10: a namespace without tasks is named on standard error', async () => {
    expect(await sched('tasks', '--url', url, '--namespace', 'elsewhere')).toEqual({ code: 0, out: '', err: 'sched: no tasks in the namespace elsewhere.\n' })
    expect(await sched('tasks', '--url', url, '--namespace', 'elsewhere', '--json')).toMatchObject({ code: 0, out: '[]\n' })
    expect(await on('tasks')).toMatchObject({ err: '' })
  })

  it('explains a fire time', async () => {
    expect((await on('explain', 'yearly', '2101-01-01T00:00:00Z')).out).toMatch(/^future/)
    expect((await on('explain', 'yearly', '2020-01-01T00:00:00Z')).out).toMatch(/^before-armed/)
    expect((await on('explain', 'yearly', '2101-01-02T00:00:00Z')).out).toMatch(/^not-a-fire-time/)
    expect((await on('explain', 'monthly', '2101-01-01T00:00:00Z')).out).toMatch(/^unknown-task/)
  })

  it('sets a schedule by hand and clears it', async () => {
    expect(await on('reschedule', 'yearly', '0 0 2 1 *')).toMatchObject({ code: 0 })
    expect((await on('explain', 'yearly', '2101-01-02T00:00:00Z')).out).toMatch(/^future/)
    expect((await on('reschedule', 'yearly', 'every tuesday')).code).toBe(64)
    expect(await on('reschedule', 'yearly', '--clear')).toMatchObject({ code: 0 })
    expect((await on('explain', 'yearly', '2101-01-02T00:00:00Z')).out).toMatch(/^not-a-fire-time/)
  })

  it('P10: names what is wrong, with an exit code per kind', async () => {
    expect((await sched('tasks')).code).toBe(64)
    expect((await sched('dance', '--url', url)).err).toContain('there is no command "dance"')
    expect((await on('explain', 'yearly', 'yesterday')).err).toContain('"yesterday" is no time')
    expect(await on('pause', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('SCHED_TASK_UNKNOWN') as string })
    expect(await sched('tasks', '--url', `sqlite:${join(folder, 'not-there', 'x.db')}`)).toMatchObject({ code: 2 })
    const empty = await sched('tasks', '--url', `sqlite:${join(folder, 'empty.db')}`)
    expect(empty).toMatchObject({ code: 1, err: expect.stringContaining('SCHED_SCHEMA_MISSING') as string })
    expect(empty.err).toContain('CREATE TABLE')
  })

  it('P10: shows no password', async () => {
    const { code, err } = await sched('tasks', '--url', 'postgres://somebody:hunter2@127.0.0.1:1/db')
    expect(code).toBe(2)
    expect(err).not.toContain('hunter2')
  })

  it('prints the DDL without a connection, and migrates', async () => {
    const printed = await sched('migrate', '--print', '--url', `sqlite:${join(folder, 'not-there', 'x.db')}`, '--prefix', 'my_')
    expect(printed.code).toBe(0)
    expect(printed.out).toContain('CREATE TABLE IF NOT EXISTS "my_executions"')
    expect(await sched('migrate', '--url', `sqlite:${join(folder, 'fresh.db')}`)).toMatchObject({ code: 0, out: 'the tables are up to date.\n' })
  })
})
