import { metaTables } from './support/table-names.ts'
import { describe, expect, it } from 'vitest'
import { rowLockWait, withRowLockLimit } from '../src/session/row-lock-limit.ts'
import { plainOptions } from '../src/session/row-values.ts'
import { bindStatement } from '../src/session/statement.ts'
import { fragments } from '../src/store/fragments.ts'

const driver = { getConnection: () => Promise.reject(new Error('never')), STRING: 's', NUMBER: 'n', CLOB: 'c', BIND_OUT: 3003, OUT_FORMAT_ARRAY: 4001 }

describe('marks', () => {
  it('become numbers, in the order of the values', () => {
    expect(bindStatement({ text: 'UPDATE t SET a = ? WHERE b = ?', params: ['x', 1] })).toEqual({ text: 'UPDATE t SET a = :1 WHERE b = :2', binds: { 1: 'x', 2: 1 } })
  })

  it('and values must be as many', () => {
    expect(() => bindStatement({ text: 'SELECT ?', params: [] })).toThrow(TypeError)
    expect(() => bindStatement({ text: 'SELECT 1', params: [1] })).toThrow(TypeError)
  })
})

describe('the limit of a row lock', () => {
  const limited = (text: string, params: (string | number)[] = []): string | undefined => withRowLockLimit(bindStatement({ text, params }), 1)?.text

  it('stands before the statement, under the statement\'s own condition', () => {
    const text = limited("UPDATE t SET a = ?, b = (SELECT MAX(c) FROM u WHERE u.d = ?) WHERE e = ? AND state IN ('a WHERE b', 'c') AND EXISTS (SELECT 1 FROM v WHERE v.f = ?)", [1, 2, 3, 4])
    expect(text).toContain("CURSOR target IS SELECT 1 FROM t WHERE e = :3 AND state IN ('a WHERE b', 'c') AND EXISTS (SELECT 1 FROM v WHERE v.f = :4) FOR UPDATE WAIT 1;")
    expect(text).toContain('  UPDATE t SET a = :1, b = (SELECT MAX(c) FROM u WHERE u.d = :2) WHERE e = :3')
    expect(limited('DELETE FROM "S"."T" WHERE a = ?', [1])).toContain('SELECT 1 FROM "S"."T" WHERE a = :1 FOR UPDATE WAIT 1;')
  })

  it('is nothing for what locks no row that is there', () => {
    for (const text of ['SELECT a FROM t WHERE b = 1', 'INSERT INTO t (a) SELECT 1 FROM u WHERE b = 1', 'UPDATE t SET a = 1', 'CREATE TABLE t (a NUMBER(19))']) expect(limited(text)).toBeUndefined()
  })

  it('is whole seconds, at least one where the statement may take that long, else no wait', () => {
    expect(rowLockWait({ rowLockMs: 1_000, statementMs: 5_000 })).toBe(1)
    expect(rowLockWait({ rowLockMs: 10_000, statementMs: 30_000 })).toBe(10)
    expect(rowLockWait({ rowLockMs: 400, statementMs: 2_000 })).toBe(1)
    expect(rowLockWait({ rowLockMs: 125, statementMs: 250 })).toBe('nowait')
  })
})

describe('values', () => {
  const { fetchTypeHandler } = plainOptions(driver, true)

  it('of numbers are exact, or an error', () => {
    const handler = fetchTypeHandler({ name: 'N', dbTypeName: 'NUMBER' })
    expect(handler?.type).toBe('s')
    expect(handler?.converter?.('1796070000123')).toBe(1_796_070_000_123)
    expect(handler?.converter?.(null)).toBeNull()
    expect(() => handler?.converter?.('9007199254740993')).toThrow(RangeError)
  })

  it('of CLOBs are text, and of VARCHAR2 as they come', () => {
    expect(fetchTypeHandler({ name: 'C', dbTypeName: 'CLOB' })).toEqual({ type: 's' })
    expect(fetchTypeHandler({ name: 'V', dbTypeName: 'VARCHAR2' })).toBeUndefined()
  })
})

describe('names', () => {
  it('are in capitals and at most 30 bytes, indexes in the schema of their table', () => {
    expect(fragments.createIndex('sched_executions_state_ix', '"APP"."SCHED_EXECUTIONS"', 'state')).toBe('CREATE INDEX "APP"."SCHED_EXECUTIONS_STATE_IX" ON "APP"."SCHED_EXECUTIONS" (state)')
    expect(fragments.createIndex('ix', '"T"', 'a')).toBe('CREATE INDEX "IX" ON "T" (a)')
    for (const name of metaTables()) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(30)
  })
})
