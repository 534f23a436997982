// One instance of a service, as a process: `instance.ts <InstanceConfig as JSON>`. Journals every attempt and every event as a JSON
// line. A line on stdin stops it.
import { createScheduler } from '../../src/executor/scheduler.ts'
import type { EventName } from '../../src/executor/events.ts'
import { connector } from '../ledger/connector.ts'
import { freezeInTransaction } from './freeze-in-transaction.ts'
import { handlerOf } from './handlers.ts'
import type { InstanceConfig } from './instance-config.ts'
import { realTime } from './real-time.ts'

const config = JSON.parse(process.argv[2] ?? '{}') as InstanceConfig

const say = (line: object): void => { process.stdout.write(`${JSON.stringify({ at: realTime(), ...line })}\n`) }

const plain = (await connector(config.product))(config.address)
const dialect = config.freeze === undefined ? plain : freezeInTransaction(plain, config.freeze, say)
const scheduler = createScheduler({ dialect, namespace: 'test', lockVeto: 'off', ...config.options })

for (const { name, options, handler } of config.tasks) scheduler.task(name, options, handlerOf(handler, name, say))

const events: readonly EventName[] = ['error', 'warning', 'stopped', 'node.lost', 'node.registered', 'definition.superseded', 'slot.skipped', 'slot.missed', 'execution.started',
  'execution.succeeded', 'execution.failed', 'execution.retry', 'execution.fenced', 'execution.recovered', 'recovery.blocked', 'task.stuck', 'lock.foreign']
for (const name of events) {
  scheduler.on(name, (event) => {
    // An Error is empty as JSON.
    say({ kind: 'event', event: name, ...Object.fromEntries(Object.entries(event).map(([key, value]) => [key, value instanceof Error ? { code: (value as { code?: string }).code, message: value.message } : value as unknown])) })
  })
}
scheduler.on('started', ({ nodeId }) => { say({ kind: 'started', nodeId, pid: process.pid }) })

try {
  await scheduler.start()
} catch (error) {
  say({ kind: 'refused', code: (error as { code?: string }).code, message: (error as Error).message })
  process.exit(2)
}
process.stdin.once('data', () => {
  process.stdin.destroy()
  void scheduler.stop().then(() => { say({ kind: 'ended' }) })
})
