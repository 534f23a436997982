import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
// example: a night of two pods
import { lose, virtualNodes } from '@sched/core/testing'

test('two pods, the night the clock goes forward, and the database is down', async () => {
  const pods = virtualNodes(2, {
    startAt: '2027-03-28T00:30:00Z',
    tasks: (pod) => {
      pod.task('close-the-day', { cron: '30 2 * * *', timeZone: 'Europe/Berlin', dst: { gap: 'run-after' } }, () => pod.sleep(60_000))
    },
  })
  await pods.start()
  await pods.advanceTo('2027-03-28T00:55:00Z')
  pods.database.stop() // 02:30 does not exist that night: the task is due at 03:00, which is 01:00 in UTC
  await pods.advanceTo('2027-03-28T01:10:00Z')
  pods.database.restart()
  await pods.advanceTo('2027-03-28T01:20:00Z')

  // One of the two caught it up, within a minute of the database's return, and only one.
  expect(pods.ledger('close-the-day')).toMatchObject([{ fireTime: new Date('2027-03-28T01:00:00Z'), state: 'succeeded', origin: 'catchup', attempt: 1 }])
  const [run] = pods.runs('close-the-day')
  expect(run?.startedAt).toBeLessThan(Date.parse('2027-03-28T01:11:00Z'))
  await pods.stop()
})
// example: end

// example: a lost answer
test('the answer to the COMMIT is lost, and the success is not', async () => {
  const pods = virtualNodes(1, {
    tasks: (pod) => { pod.task('bill', { everyMs: 60_000 }, () => pod.sleep(500)) },
  })
  await pods.start()
  const fault = pods.faults.before('finish COMMIT', lose('before-reply'))
  await pods.advance(90_000)

  expect(fault.hits).toBe(1)
  expect(pods.ledger('bill')).toMatchObject([{ state: 'succeeded', attempt: 1 }])
  expect(pods.nodes[0]?.events('execution.fenced')).toEqual([])
  await pods.stop()
})
// example: end

// example: the database inside the test
test('what a task writes and its success stand or fall together', async () => {
  const pods = virtualNodes(1, {
    tasks: (pod) => {
      pod.task('count', { everyMs: 60_000, retry: { max: 1, backoffMs: 1000 } }, async (ctx) => {
        await ctx.transaction((client) => {
          client.prepare('INSERT INTO counted (attempt) VALUES (?)').run(ctx.attempt)
          if (ctx.attempt === 1) throw new Error('the first attempt fails')
        })
      })
    },
  })
  pods.database.query('CREATE TABLE counted (attempt INTEGER)')
  await pods.start()
  await pods.advance(90_000)

  expect(pods.database.query('SELECT attempt FROM counted')).toEqual([{ attempt: 2 }])
  expect(pods.ledger('count')).toMatchObject([{ state: 'succeeded', attempt: 2 }])
  await pods.stop()
})
// example: end

test('docs/testing.md quotes these examples', () => {
  const source = readFileSync(new URL(import.meta.url), 'utf8')
  const page = readFileSync(new URL('../../../../docs/testing.md', import.meta.url), 'utf8')
  const examples = [...source.matchAll(/^\/\/ example: (?!end)(.+)\n([^]*?)^\/\/ example: end$/gm)].map(([, title, text]) => ({ title, text: (text ?? '').trim() }))
  expect(examples.map(({ title }) => title)).toEqual(['a night of two pods', 'a lost answer', 'the database inside the test'])
  for (const { title, text } of examples) expect(page, title).toContain(`\`\`\`ts\n${text}\n\`\`\``)
})
