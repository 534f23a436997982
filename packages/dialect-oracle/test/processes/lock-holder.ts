// Takes a lock through the library, or waits for it, and says what becomes of it. Arguments: URL, how long to wait in ms.
import { createLocks } from '@sched/core'
import { oracle } from '../../src/index.ts'

const [url = '', waitMs = '0'] = process.argv.slice(2)
const say = (line: object): void => { process.stdout.write(`${JSON.stringify(line)}\n`) }
const locks = createLocks({ dialect: oracle({ url }), namespace: 'processes', leaseMs: 2_000, heartbeatMs: 400 })
say({ asking: true })
const lease = await locks.acquire('shared', { waitMs: Number(waitMs) })
say({ held: true, at: Date.now() })
lease.signal.addEventListener('abort', () => { say({ lost: true }) })
setInterval(() => { if (!lease.signal.aborted) say({ alive: true }) }, 100)
