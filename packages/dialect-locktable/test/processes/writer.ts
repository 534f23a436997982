// A process with a session on an SQLite file, told what to do by lines on stdin: one answer per line.
import { createInterface } from 'node:readline'
import type { SqlSession } from '@sched/core/spi'
import { sqlite } from '../../src/sqlite/index.ts'
import { persistent } from '../support/persistent.ts'

const [file = ''] = process.argv.slice(2)
const { store } = sqlite({ file })
const classify = (error: unknown): ReturnType<NonNullable<typeof store>['classify']> => store!.classify(error)
const run = (session: SqlSession, text: string): Promise<unknown> => session.run({ text, params: [] })

let openTries = 0
const session = await persistent(classify, () => {
  openTries += 1
  return store!.open('store', { signal: new AbortController().signal, leaseMs: 2_000, label: 'writer', statementMs: 500, rowLockMs: 100, sharedSessions: false })
}).then(({ value }) => value)

/** Counts up by one, 500 times, reading and writing in one transaction. How long each lost BEGIN took is measured. */
async function countUp(): Promise<{ lostMs: number[] }> {
  const lostMs: number[] = []
  const begin = async (): Promise<void> => {
    const startedAt = performance.now()
    try {
      await session.begin()
    } catch (error) {
      lostMs.push(performance.now() - startedAt)
      throw error
    }
  }
  for (let count = 0; count < 500; count += 1) {
    await persistent(classify, begin)
    const { rows: [row] } = await session.run({ text: 'SELECT n FROM counter', params: [] })
    await session.run({ text: 'UPDATE counter SET n = ?', params: [(row!['n'] as number) + 1] })
    await session.commit()
  }
  return { lostMs }
}

const tasks: Record<string, () => Promise<unknown>> = {
  create: () => persistent(classify, () => run(session, 'CREATE TABLE IF NOT EXISTS counter (n INTEGER NOT NULL) STRICT')),
  'write without commit': async () => { await session.begin(); await run(session, 'UPDATE counter SET n = -1') },
  'count up': countUp,
}

console.log(JSON.stringify({ ready: true, openTries }))
for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line) as string
  console.log(JSON.stringify({ done: task, result: await tasks[task]!() }))
}
