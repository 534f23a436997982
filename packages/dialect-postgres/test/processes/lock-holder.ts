// Takes a lock, keeps it with a heartbeat, and says what becomes of it. Arguments: URL, lease in ms, heartbeat in ms, begin a transaction or not.
import { advisoryStrategy } from '../../src/locks/advisory-strategy.ts'
import { openAdvisoryConnection } from '../../src/locks/advisory-connection.ts'
import { connectorFor } from '../../src/options.ts'
import { lockName } from '@sched/core/spi'

const [url = '', lease = '', heartbeat = '', where = ''] = process.argv.slice(2)
const name = lockName('test', 'user', 'frozen')
const leaseMs = Number(lease)
const connection = await openAdvisoryConnection(connectorFor({ url }), 'pulse', { signal: new AbortController().signal, leaseMs, label: 'sched:test:holder' })
const say = (line: object): void => { process.stdout.write(`${JSON.stringify(line)}\n`) }
connection.onLost?.((cause) => {
  say({ lost: cause.message, code: (cause as { code?: unknown }).code })
  clearInterval(beating)
})
say(await advisoryStrategy.tryLock(connection, { name, owner: 'holder', ownerLabel: 'holder', leaseMs }))
if (where === 'transaction') await connection.sql.begin()
const beating = setInterval(() => {
  const sentAt = Date.now()
  connection.ping().then(() => { say({ beat: true, sentAt }) }, () => { clearInterval(beating) })
}, Number(heartbeat))
