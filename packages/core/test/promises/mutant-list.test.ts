import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { mutants } from './mutant-list.ts'

const source = (file: string): string => readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')

// A breakage whose text has moved on would break nothing, and nobody would notice: `mutants.ts` is run by hand.
describe('the list of mutants', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))('%s: its text occurs once, and its tests exist', (_, { file, find, put, tests }) => {
    expect(source(file).split(find), `${JSON.stringify(find)} in src/${file}`).toHaveLength(2)
    expect(put).not.toBe(find)
    for (const test of tests) expect(existsSync(new URL(`../${test}.test.ts`, import.meta.url)), test).toBe(true)
  })

  it('has a name of its own for each', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  })
})
