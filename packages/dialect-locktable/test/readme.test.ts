import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { lockTableStatement } from '../../core/src/ledger/schema.ts'
import { tableNames } from '../../core/src/ledger/tables.ts'
import { lockTableStatements } from '../src/lock-table-statements.ts'
import { sqliteFragments } from '../src/sqlite/sqlite-fragments.ts'

it('the README shows the DDL and every statement as they are, and no other', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const shown = [...readme.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text!.trim().replaceAll(/\s+/g, ' '))
  const sql = { ...sqliteFragments, nowMs: '<now>' }
  const tables = tableNames(sql)
  const statements = lockTableStatements(sql, tables.locks)
  const key = { lockName: 'n', owner: 'o', fencingToken: 1 }
  const grant = { lockName: 'n', owner: 'o', ownerLabel: 'l', leaseMs: 1 }
  const all = [
    statements.acquire(grant), statements.takeOver(grant), statements.row('n'), statements.insert(grant), statements.refresh([key], 1), statements.heldOf([key]),
    statements.release(key), statements.held('n'), statements.heldUnder(['l', 'l']),
  ]
  expect(shown).toEqual([lockTableStatement(sql, tables), ...all.map(({ text }) => text)])
  for (const { text, params } of all) expect(params).toHaveLength(text.split('?').length - 1)
})
