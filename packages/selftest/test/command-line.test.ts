import { describe, expect, it } from 'vitest'
import { parseCommandLine } from '../src/cli-options.ts'

const run = (...words: string[]): unknown => parseCommandLine(['--url', 'sqlite:x.db', ...words])

describe('the command line', () => {
  it('has defaults', () => {
    expect(run()).toEqual({ kind: 'run', url: 'sqlite:x.db', dialect: undefined, cases: undefined, allowKill: false, leaseMs: 2_000, json: undefined, junit: undefined, markdown: undefined })
  })

  it.each([
    [['--json'], { json: { kind: 'stdout' } }],
    [['--json', 'r.json'], { json: { kind: 'file', path: 'r.json' } }],
    [['--json=r.json', '--allow-kill'], { json: { kind: 'file', path: 'r.json' }, allowKill: true }],
    [['--json', '--junit', 'r.xml'], { json: { kind: 'stdout' }, junit: { kind: 'file', path: 'r.xml' } }],
    [['--markdown'], { markdown: { kind: 'stdout' } }],
    [['--lease-ms', '1500'], { leaseMs: 1_500 }],
    [['--dialect', './mine.ts'], { dialect: './mine.ts' }],
    [['probe'], { kind: 'probe' }],
    [['--json', 'probe'], { kind: 'probe', json: { kind: 'stdout' } }],
  ])('understands %j', (words, expected) => { expect(run(...words)).toMatchObject(expected) })

  it('selects groups, prefixes and ids, in the order of the suite', () => {
    const selected = (only: string): string[] => (run('--only', only) as { cases: readonly { id: string }[] }).cases.map(({ id }) => id)
    expect(selected('own-03,TRY-01')).toEqual(['TRY-01', 'OWN-03'])
    expect(selected('owner')).toEqual(selected('OWN'))
    expect(selected('isheld')).toContain('HLD-01')
  })

  it.each([
    [[], /--url/], [['--url'], /url/], [['--url', ''], /--url/], [['--url', 'x:', '--nope'], /nope/], [['--url', 'x:', 'bench'], /probe/], [['probe', 'postgres://h'], /probe/],
    [['--url', 'x:', '--only', 'NOP'], /NOP/], [['--url', 'x:', '--only', 'OWN-99'], /OWN-99/], [['--url', 'x:', '--only', ''], /--only/],
    [['--url', 'x:', '--lease-ms', '999'], /1000/], [['--url', 'x:', '--lease-ms', 'soon'], /soon/], [['--url', 'x:', '--json', '--junit'], /standard output/], [['--url', 'x:', '--json='], /--json=/],
  ])('refuses %j', (words, message) => {
    expect(parseCommandLine(words)).toMatchObject({ kind: 'usage', message: expect.stringMatching(message) as string })
  })

  it('takes the URL from the environment, where no list of processes shows it', () => {
    expect(parseCommandLine([], { SCHED_SELFTEST_URL: 'sqlite:y.db' })).toMatchObject({ kind: 'run', url: 'sqlite:y.db' })
  })

  it('answers --help and --version without a URL', () => {
    expect(parseCommandLine(['--help'])).toEqual({ kind: 'help' })
    expect(parseCommandLine(['--version'])).toEqual({ kind: 'version' })
  })
})
