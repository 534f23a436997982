import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { afterAll } from 'vitest'
import { defineConformance } from '../src/vitest.ts'

const folder = mkdtempSync(join(tmpdir(), 'sched-selftest-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

defineConformance('the lock table on SQLite', () => sqlite({ file: join(folder, 'conformance.db') }))
