import { createServer, type AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SchedError, sessionSurvives, type ErrorClass } from '@sched/core/spi'
import { sqlserver } from '../src/index.ts'
import { classifySqlServer, serverNumbers } from '../src/errors/classify.ts'
import { openLocks, openStore, startStandIn } from './support/scene.ts'

const classOf = (work: Promise<unknown>): Promise<ErrorClass> => work.then(() => { throw new Error('it did not fail') }, classifySqlServer)

describe('numbers of the server, through the driver from the TDS stand-in (P10)', () => {
  it.each<[number, ErrorClass]>([
    [2627, 'duplicate-key'], [2601, 'duplicate-key'], [1205, 'deadlock'], [1222, 'lock-timeout'], [3960, 'serialization'], [3930, 'serialization'], [229, 'permission'], [262, 'permission'],
    [300, 'permission'], [208, 'missing-table'], [3906, 'read-only'], [2714, 'already-exists'], [1913, 'already-exists'], [2812, 'unsupported'], [102, 'unsupported'], [601, 'contended'],
    [2628, 'name-invalid'], [8152, 'name-invalid'], [1204, 'resource-exhausted'], [9002, 'resource-exhausted'], [40501, 'resource-exhausted'], [40613, 'connection-lost'], [596, 'connection-lost'],
    [8134, 'unknown'], [33_557_097, 'unknown'],
  ])('%s is %s, and the session goes on where the class says so', async (number, errorClass) => {
    const standIn = await startStandIn()
    const session = await openStore(sqlserver({ url: standIn.url }))
    standIn.faults.statement.push({ number, severity: 16, message: 'made by the test' })
    expect(await classOf(session.run({ text: 'SELECT 1', params: [] }))).toBe(errorClass)
    if (sessionSurvives.has(errorClass)) await session.ping()
  })

  it('of severity 20 and more end the connection, whatever the number', async () => {
    const standIn = await startStandIn()
    const session = await openStore(sqlserver({ url: standIn.url }))
    standIn.faults.statement.push({ number: 823, severity: 24, message: 'I/O error' })
    expect(await classOf(session.run({ text: 'SELECT 1', params: [] }))).toBe('connection-lost')
  })

  it.each<[string, ErrorClass]>([
    ['relation "sched_meta" does not exist', 'missing-table'], ['Invalid object name \'sched_meta\'.', 'missing-table'], ['relation "t" already exists', 'already-exists'],
    ['canceling statement due to lock timeout', 'lock-timeout'], ['permission denied for table t', 'permission'], ['deadlock detected', 'deadlock'], ['something else', 'unknown'],
  ])('that nobody\'s catalogue has are judged by the text: %s', (message, errorClass) => {
    expect(classifySqlServer(Object.assign(new Error(message), { code: 'EREQUEST', number: 33_557_097 }))).toBe(errorClass)
  })

  it('that come together count by the first that says something', () => {
    const error = (number: number): Error => Object.assign(new Error('x'), { code: 'EREQUEST', number })
    expect(classifySqlServer(new AggregateError([error(2714), error(1750)]))).toBe('already-exists')
    expect(classifySqlServer(new AggregateError([error(1750), error(2714)]))).toBe('already-exists')
    expect(serverNumbers(new AggregateError([error(300), error(297)]))).toEqual([300, 297])
  })
})

describe('an opening that fails on the TDS stand-in (P10)', () => {
  it.each<[string, number, ErrorClass]>([['busy', 10929, 'resource-exhausted'], ['reconfiguring', 40613, 'connection-lost'], ['behind the firewall', 40615, 'authentication'], ['resolving', 983, 'connection-lost'], ['strange', 99_999, 'authentication']])('because the server is %s: %s', async (_why, number, errorClass) => {
    const standIn = await startStandIn()
    standIn.faults.login.push({ number, severity: 16, message: 'made by the test' })
    expect(await classOf(openLocks({ url: standIn.url }))).toBe(errorClass)
  })

  it('tells credentials and database name from all the rest', async () => {
    const standIn = await startStandIn()
    expect(await classOf(openLocks({ url: standIn.urlOf('sched', { password: 'wrong' }) }))).toBe('authentication')
    expect(await classOf(openLocks({ url: standIn.urlOf('nobody') }))).toBe('authentication')
    const error: unknown = await openLocks({ url: standIn.urlOf('sched', { database: 'no_such' }) }).catch((reason: unknown) => reason)
    expect(classifySqlServer(error)).toBe('authentication')
    expect(error).toMatchObject({ number: 4060, message: expect.stringContaining('no_such') as string }) // tedious' own error has no number, and the text of the last message
  })

  it('tells a closed port, a name that does not resolve, a peer that speaks something else, and one that hangs up', async () => {
    const standIn = await startStandIn()
    const url = (change: (url: URL) => void): string => { const changed = new URL(standIn.url); change(changed); return changed.href }
    expect(await classOf(openLocks({ url: url((each) => { each.port = '1' }) }))).toBe('connection-lost')
    expect(await classOf(openLocks({ url: url((each) => { each.hostname = 'no-such-host.invalid' }) }))).toBe('connection-lost')
    const stranger = createServer((socket) => { socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.9\r\n'.repeat(20)) }).listen(0, '127.0.0.1')
    onTestFinished(() => { stranger.close() })
    await new Promise((resolve) => stranger.once('listening', resolve))
    expect(await classOf(openLocks({ url: url((each) => { each.port = String((stranger.address() as AddressInfo).port) }) }))).toBe('connection-lost')
    standIn.faults.dropsAfterLogin = true
    expect(await classOf(openLocks({ url: standIn.url }))).toBe('connection-lost')
    standIn.faults.dropsAfterLogin = false
    expect(await classOf(openLocks({ url: url((each) => { each.search = '?encrypt=true' }) }))).toBe('connection-lost')
  })

  it('ends when its signal aborts, and leaves no session', async () => {
    const standIn = await startStandIn()
    for (let delayMs = 0; delayMs < 6; delayMs += 1) {
      await openLocks({ url: standIn.url }, { signal: AbortSignal.timeout(delayMs) }).then((connection) => { connection.destroy() }, (error: unknown) => { expect(error).toMatchObject({ name: 'TimeoutError' }) })
    }
    await expect.poll(() => standIn.sessions().length).toBe(0)
  })

  it('never shows the password, in no message, stack or property', async () => {
    const standIn = await startStandIn()
    const secret = 'hunter2+secret'
    for (const url of [standIn.urlOf('sched', { password: secret }), standIn.urlOf('sched', { password: secret, database: 'none' }), standIn.urlOf('sched', { password: secret }).replace(String(standIn.port), '1')]) {
      const error: unknown = await openLocks({ url }).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(Error)
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('hunter2')
    }
  })
})

describe('errors of the drivers themselves', () => {
  it.each<[string, string, ErrorClass]>([
    ['ESOCKET', 'Connection lost - socket hang up', 'connection-lost'], ['ECLOSE', 'Connection closed before request completed.', 'connection-lost'], ['ECONNRESET', 'socket hang up', 'connection-lost'],
    ['EINVALIDSTATE', 'Requests can only be made in the LoggedIn state, not the Final state', 'connection-lost'],
    ['EINVALIDSTATE', 'Requests can only be made in the LoggedIn state, not the SentClientRequest state', 'unknown'],
    ['ETIMEOUT', 'Timeout: Request failed to complete in 100ms', 'query-timeout'], ['ETIMEOUT', 'Failed to cancel request in 5000ms', 'connection-lost'], ['ETIMEOUT', 'Failed to connect to host:1433 in 15000ms', 'connection-lost'],
    ['ECANCEL', 'Canceled.', 'query-timeout'], ['ENOTOPEN', 'Connection not yet open.', 'connection-lost'], ['ECONNCLOSED', 'Connection is closed.', 'connection-lost'], ['EINSTLOOKUP', 'x', 'connection-lost'],
    ['EENCRYPT', 'x', 'connection-lost'], ['ELOGIN', 'Login failed.', 'authentication'], ['NO_SUCH_CODE', 'x', 'unknown'],
  ])('%s, %s: %s', (code, message, errorClass) => {
    expect(classifySqlServer(Object.assign(new Error(message), { code }))).toBe(errorClass)
  })

  it('and what is none at all', () => {
    expect(classifySqlServer(new Error('Failed to acquire a connection from the pool: operation timed out for an unknown reason'))).toBe('resource-exhausted')
    for (const thrown of ['text', null, undefined, {}, new TypeError('x')]) expect(classifySqlServer(thrown)).toBe('unknown')
    expect(classifySqlServer(new SchedError('SCHED_DEADLOCK', 'x', { details: { errorClass: 'deadlock' } }))).toBe('deadlock')
  })
})
