// Takes a lock, keeps it with a heartbeat, and says what becomes of it. Arguments: URL, namespace, lease in ms, heartbeat in ms, begin a transaction or not.
import { lockName } from '@sched/core/spi'
import { openGetLockConnection } from '../../src/locks/get-lock-connection.ts'
import { getLockStrategy } from '../../src/locks/get-lock-strategy.ts'
import { connectorFor } from '../../src/options.ts'

const [url = '', namespace = '', lease = '', heartbeat = '', where = ''] = process.argv.slice(2)
const name = lockName(namespace, 'user', 'frozen')
const leaseMs = Number(lease)
const connection = await openGetLockConnection(connectorFor({ url }), 'pulse', { signal: new AbortController().signal, leaseMs, label: 'sched:test:holder' })
const say = (line: object): void => { process.stdout.write(`${JSON.stringify(line)}\n`) }
connection.onLost?.((cause) => {
  const { code, errno } = cause as { code?: unknown; errno?: unknown }
  say({ lost: cause.message, code, errno })
  clearInterval(beating)
})
say(await getLockStrategy.tryLock(connection, { name, owner: 'holder', ownerLabel: 'holder', leaseMs }))
if (where === 'transaction') await connection.sql.begin()
const beating = setInterval(() => {
  const sentAt = Date.now()
  connection.ping().then(() => { say({ beat: true, sentAt }) }, () => { clearInterval(beating) })
}, Number(heartbeat))
