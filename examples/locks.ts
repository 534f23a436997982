// A lock by itself: who comes first closes the orders, everybody else is told who has it.
//   node examples/locks.ts [url]        default: a SQLite file in the temp folder
import { createLocks } from '@sched/core'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const url = process.argv[2] ?? `sqlite:${join(tmpdir(), 'sched-example.db')}`
const locks = createLocks({ url })

const outcome = await locks.tryAcquire('order-close')
if (outcome.status === 'refused') {
  console.log('somebody else closes the orders:', await locks.inspect('order-close'))
} else {
  await using lease = outcome.lease
  console.log(`mine until released; token ${lease.fencingToken ?? '(this source has none)'}`)
  for (let order = 1; order <= 10; order += 1) {
    lease.signal.throwIfAborted()                     // judged now: true after a freeze, too
    await sleep(300, undefined, { signal: lease.signal })
    console.log(`closed order ${order}`)
  }
}
await locks.close()
