import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { sqliteFile } from './sqlite-file.ts'

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const folder = fileURLToPath(new URL('./fixtures/adapter/', import.meta.url))

interface TestResult { readonly title: string; readonly ancestorTitles: readonly string[]; readonly status: string; readonly failureMessages: readonly string[] }
interface VitestReport { readonly testResults: readonly { readonly assertionResults: readonly TestResult[] }[] }

it('makes a test of every case, which fails with the case, and a run without any executed case fails', async () => {
  const file = sqliteFile(onTestFinished)
  const output = join(dirname(file), 'report.json')
  const work = promisify(execFile)(process.execPath, [vitest, 'run', '--config', join(folder, 'vitest.config.mjs'), '--reporter=json', `--outputFile=${output}`], {
    cwd: folder, env: { ...process.env, NODE_OPTIONS: undefined, VITEST: undefined, SELFTEST_FIXTURE_FILE: file, SELFTEST_FIXTURE_CACHE: dirname(file) },
  })
  const { code } = await work.then(() => ({ code: 0 }), (error: { code: number }) => error)
  expect(code).toBe(1)
  const report = JSON.parse(readFileSync(output, 'utf8')) as VitestReport
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const found = tests.map(({ ancestorTitles, title, status }) => [ancestorTitles.filter((word) => word !== '').join(' > '), title.slice(0, 6), status])
  expect(found).toEqual([
    ['broken > try', 'TRY-01', 'passed'], ['broken > try', 'TRY-02', 'failed'], ['broken > refresh', 'REF-06', 'skipped'], ['broken', 'execut', 'passed'],
    ['nothing executed > refresh', 'REF-06', 'skipped'], ['nothing executed', 'execut', 'failed'],
  ])
  expect(tests[1]?.failureMessages.join()).toContain('another connection holds it')
}, 60_000)
