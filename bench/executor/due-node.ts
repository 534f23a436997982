// One of several instances with tasks that all fall due in the same second: `due-node.ts <url> <tasks> <period in s>`. A line on stdin stops it.
import { createScheduler } from '@sched/core'
import { postgres } from '@sched/dialect-postgres'

const [url = '', count = '', periodSeconds = ''] = process.argv.slice(2)
const dialect = postgres({ url })
const scheduler = createScheduler({ dialect, namespace: 'bench', leaseMs: 30_000, heartbeatMs: 10_000, signals: false })
const say = (line: object): void => { process.stdout.write(`${JSON.stringify(line)}\n`) }
for (let index = 0; index < Number(count); index += 1) scheduler.task(`task-${index}`, { cron: `*/${periodSeconds} * * * * *` }, () => {})
scheduler.on('error', ({ where, error }) => { say({ kind: 'error', where, message: error.message }) })
scheduler.on('execution.started', ({ task, fireTime, attempt, lateMs }) => { say({ kind: 'run', task, fireTime, attempt, lateMs }) })
await scheduler.start()
say({ kind: 'started' })
process.stdin.once('data', () => {
  process.stdin.destroy()
  void scheduler.stop().then(() => dialect.close())
})
