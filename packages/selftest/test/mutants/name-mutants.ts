import { lockName, type LockName } from '@sched/core/spi'
import { renamed } from './alter.ts'
import type { Mutant } from './mutant.ts'

const text = (change: (text: string) => string) => (name: LockName): LockName => lockName(name.namespace, name.kind, change(name.name) || '_')
const key = (name: LockName, from: number, to: number): LockName => lockName(name.namespace, name.kind, Buffer.from(name.digest.slice(from, to)).toString('hex'))

const faults: readonly (readonly [string, readonly string[], (name: LockName) => LockName])[] = [
  ['has one lock for all names', ['TRY-04', 'CNT-02'], text(() => 'one')],
  ['folds case', ['NAM-01'], text((name) => name.toLowerCase())],
  ['trims spaces at the end', ['NAM-02'], text((name) => name.trimEnd())],
  ['compares as a collation does', ['NAM-03'], text((name) => name.normalize('NFKD').replaceAll(/\p{M}/gu, ''))],
  ['stores what is not ASCII as question marks', ['NAM-03'], text((name) => name.replaceAll(/[^\u0020-\u007e]/g, '?'))],
  ['cuts long names', ['NAM-04'], text((name) => [...name].slice(0, 64).join(''))],
  ['ignores the namespace', ['NAM-05'], (name) => lockName('one', name.kind, name.name)],
  ['ignores the kind', ['NAM-05'], (name) => lockName(name.namespace, 'user', name.name)],
  ['replaces what is no letter', ['NAM-06'], text((name) => name.replaceAll(/[^\p{L}\p{N}]/gu, '_'))],
  ['does not set encoded names apart', ['NAM-07'], (name) => (/^[\w~:./-]+$/.test(name.name) ? name : lockName(name.namespace, name.kind, Buffer.from(name.digest).toString('hex')))],
  ['has keys of 8 bits', ['NAM-08'], (name) => key(name, 0, 1)],
  ['has keys of 32 bits', ['NAM-09'], (name) => key(name, 0, 4)],
  ['has keys of 32 other bits', ['NAM-09'], (name) => key(name, 4, 8)],
]

export const nameMutants: readonly Mutant[] = faults.map(([name, kills, rename]) => ({ name, base: 'sqlite', kills, dialect: (base) => renamed(base, rename) }))
