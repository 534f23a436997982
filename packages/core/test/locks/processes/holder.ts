// Holds a lock and says what it sees: { url, name, leaseMs, heartbeatMs } as JSON in the first argument.
import { createLocks } from '../../../src/locks/create-locks.ts'

const { url, name, leaseMs, heartbeatMs } = JSON.parse(process.argv[2] ?? '{}') as { url: string; name: string; leaseMs: number; heartbeatMs: number }
const say = (line: Record<string, unknown>): void => { process.stdout.write(`${JSON.stringify(line)}\n`) }

const locks = createLocks({ url, leaseMs, heartbeatMs })
const lease = await locks.acquire(name, { waitMs: 5000 })
let events = 0
lease.signal.addEventListener('abort', () => { events += 1 })

// User code that knows nothing of locks but its signal: its timer is the first to be due, so that it runs first after a freeze.
let last = performance.now()
let woken = false
const look = (): void => {
  const now = performance.now()
  if (!woken && now - last > leaseMs) {
    woken = true
    const eventsBefore = events
    const aborted = lease.signal.aborted
    say({ kind: 'woken', aborted, eventsBefore, eventsAfter: events, code: (lease.signal.reason as { code?: string } | undefined)?.code ?? null })
    void (async () => {
      const refresh = await lease.refresh().then(() => 'refreshed', (error: unknown) => (error as { code?: string }).code)
      say({ kind: 'after', refresh, release: (await lease.release()).status })
      await locks.close()
    })()
    return
  }
  last = now
  if (!woken) setTimeout(look, 2)
}
look()
// It may be frozen as soon as it has said so.
say({ kind: 'held', token: lease.fencingToken ?? null, session: lease.sessionId ?? null })
