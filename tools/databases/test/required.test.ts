import { describe, expect, it } from 'vitest'
import { allowedSources } from '../src/find-servers.ts'
import { requiredServers } from '../src/required-servers.ts'
import { countTests } from '../src/test-count.ts'

describe('requiredServers', () => {
  it('knows names and families', () => {
    expect([...requiredServers('')]).toEqual([])
    expect([...requiredServers('postgres')]).toEqual(['postgres'])
    expect([...requiredServers(' pgbouncer, postgres-oldest,postgres-private')]).toEqual(['pgbouncer-transaction', 'pgbouncer-session', 'postgres-oldest', 'postgres-private'])
  })
  it('refuses names that nothing has', () => {
    expect(() => requiredServers('postgress')).toThrow('postgress')
    expect(() => allowedSources('dokcer')).toThrow('dokcer')
  })
})

describe('countTests', () => {
  const report = { numPassedTests: 3, numFailedTests: 1, numPendingTests: 2, numTodoTests: 1 }
  it('counts tests, and a file that could not be loaded as a failure', () => {
    expect(countTests({ ...report, testResults: [
      { status: 'failed', assertionResults: [{ status: 'failed' }] },
      { status: 'failed', assertionResults: [] },
    ] })).toEqual({ passed: 3, failed: 2, skipped: 3 })
    expect(countTests(undefined)).toEqual({ passed: 0, failed: 1, skipped: 0 })
  })
})
