// Takes a lock, gives it back, closes (or not, as told), and must then end by itself: { url, close, leaseMs } as JSON.
import { createLocks } from '../../../src/locks/create-locks.ts'

const { url, close, leaseMs } = JSON.parse(process.argv[2] ?? '{}') as { url: string; close: boolean; leaseMs: number }
const locks = createLocks({ url, leaseMs })
await locks.with('passing', async (lease) => { await lease.refresh() })
const lease = await locks.acquire('passing', { waitMs: 1000 })
if (!close) await lease.release()
process.stdout.write(`${JSON.stringify({ kind: 'done' })}\n`)
if (close) await locks.close()
