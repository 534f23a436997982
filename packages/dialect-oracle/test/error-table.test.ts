import { SchedError } from '@sched/core/spi'
import { describe, expect, it } from 'vitest'
import { classifyOracle } from '../src/errors/classify.ts'

const thrown = (code: string, message = `${code}: text`): Error => Object.assign(new Error(message), { code })

// Codes as oracledb delivers them; no live server has raised any of them here.
describe('classifyOracle', () => {
  it.each([
    ['ORA-00001', 'duplicate-key'], ['ORA-00054', 'lock-timeout'], ['ORA-30006', 'lock-timeout'], ['ORA-00060', 'deadlock'], ['ORA-08177', 'serialization'], ['ORA-01013', 'query-timeout'],
    ['NJS-123', 'query-timeout'], ['NJS-500', 'connection-lost'], ['NJS-003', 'connection-lost'], ['NJS-503', 'connection-lost'], ['NJS-510', 'connection-lost'], ['ORA-01033', 'connection-lost'],
    ['ORA-01017', 'authentication'], ['NJS-518', 'authentication'], ['NJS-515', 'authentication'], ['ORA-01031', 'permission'], ['ORA-00942', 'missing-table'], ['ORA-00955', 'already-exists'],
    ['ORA-01408', 'already-exists'], ['ORA-16000', 'read-only'], ['ORA-01456', 'read-only'], ['ORA-12899', 'name-invalid'], ['NJS-040', 'resource-exhausted'], ['ORA-02391', 'resource-exhausted'],
    ['ORA-00904', 'unsupported'], ['ORA-99999', 'unknown'], ['NJS-999', 'unknown'], ['ENOENT', 'unknown'],
  ])('%s is %s', (code, errorClass) => { expect(classifyOracle(thrown(code))).toBe(errorClass) })

  it('reads why a block did not compile', () => {
    const compilation = (reason: string): Error => thrown('ORA-06550', `ORA-06550: line 5, column 5:\n${reason}\nORA-06550: line 5, column 5:\nPL/SQL: Statement ignored`)
    expect(classifyOracle(compilation("PLS-00201: identifier 'SYS.DBMS_LOCK' must be declared"))).toBe('permission')
    expect(classifyOracle(compilation('PLS-00904: insufficient privilege to access object SYS.DBMS_LOCK'))).toBe('permission')
    expect(classifyOracle(compilation("PLS-00302: component 'ALLOCATE_UNIQUE_AUTONOMOUS' must be declared"))).toBe('unsupported')
    expect(classifyOracle(compilation('PL/SQL: ORA-00942: table or view does not exist'))).toBe('missing-table')
    expect(classifyOracle(compilation('PLS-00103: Encountered the symbol'))).toBe('unknown')
  })

  it('reads what the listener refused for', () => {
    expect(classifyOracle(thrown('NJS-511', 'NJS-511: connection to listener at host db port 1521 was refused. (CONNECTION_ID=x)\nCause: ORA-12516'))).toBe('resource-exhausted')
    expect(classifyOracle(thrown('NJS-511', 'NJS-511: connection to listener at host db port 1521 was refused. (CONNECTION_ID=x)\nCause: ORA-12528'))).toBe('connection-lost')
  })

  it('knows DBMS_LOCK\'s own complaint behind a number that is anybody\'s', () => {
    expect(classifyOracle(thrown('ORA-20000', 'ORA-20000: ORU-10003: Unable to find or insert lock x into catalog dbms_lock_allocated.'))).toBe('contended')
    expect(classifyOracle(thrown('ORA-20000', 'ORA-20000: of a trigger'))).toBe('unknown')
  })

  it('takes the class that our own errors carry', () => {
    expect(classifyOracle(new SchedError('SCHED_LOCK_DEADLOCK', 'x', { details: { errorClass: 'deadlock' } }))).toBe('deadlock')
    expect(classifyOracle(new SchedError('SCHED_STOPPED', 'x'))).toBe('unknown')
  })
})
