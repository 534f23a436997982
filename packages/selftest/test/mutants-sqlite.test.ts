import { sqlite } from '@sched/dialect-locktable/sqlite'
import { describe, it } from 'vitest'
import { mutants } from './mutants/index.ts'
import { expectCaught } from './mutants/caught.ts'
import type { Mutant } from './mutants/mutant.ts'
import { sqliteFile } from './sqlite-file.ts'

const onSqlite = mutants.filter(({ base }) => base === 'sqlite')
// Cases that stop the process (one computes for seconds), or put its clock wrong, would disturb others beside them.
const alone = onSqlite.filter(({ kills }) => kills.some((id) => id.startsWith('CLK-') || id === 'LOS-05' || id === 'NAM-09'))

const define = (mutant: Mutant): void => {
  it(`${mutant.name}: caught by ${mutant.kills.join(', ')}`, async ({ onTestFinished }) => {
    await expectCaught(mutant, sqlite({ file: sqliteFile(onTestFinished) }))
  }, 120_000)
}

describe('broken on SQLite, alone', () => { alone.forEach(define) })
describe.concurrent('broken on SQLite', () => { onSqlite.filter((mutant) => !alone.includes(mutant)).forEach(define) })
