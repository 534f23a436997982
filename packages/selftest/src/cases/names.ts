import assert from 'node:assert/strict'
import type { LockName } from '@sched/core/spi'
import type { CaseContext } from '../case-context.ts'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { collidingNames } from './colliding-names.ts'

export const nameCases: readonly ConformanceCase[] = defineGroup('names', {
  '01': {
    level: 'MUST', title: 'names that differ by case are different locks',
    run: (context) => allDifferent(context, exactly(context, ['order-close', 'Order-Close', 'ORDER-CLOSE', 'straße', 'STRASSE', 'STRAßE'])),
  },
  '02': {
    level: 'MUST', title: 'names that differ by a space are different locks',
    run: (context) => allDifferent(context, exactly(context, ['order', 'order ', 'order  ', 'order\t', 'or der', 'order\u00a0'])),
  },
  '03': {
    level: 'MUST', title: 'names that only look or sort alike are different locks',
    run: (context) => allDifferent(context, exactly(context, ['cafe', 'café', 'fi', 'ﬁ', '１', '1', 'æ', 'ae', 'I', 'ı', 'İ', '名', '命', '😀', '😁'])),
  },
  '04': {
    level: 'MUST', title: 'long names are told apart by their last letter',
    run: (context) => allDifferent(context, exactly(context, ['x', '漢', '😀'].flatMap((letter) => [`${letter.repeat(254)}a`, `${letter.repeat(254)}b`, letter.repeat(254)]))),
  },
  '05': {
    level: 'MUST', title: 'the same name in another namespace or of another kind is another lock',
    async run(context) {
      const text = context.name('same').name
      const namespaces = [context.namespace, `${context.namespace}x`]
      await allDifferent(context, (['task', 'user', 'core'] as const).flatMap((kind) => namespaces.map((namespace) => context.exactName(text, { namespace, kind }))))
    },
  },
  '06': {
    level: 'MUST', title: 'letters that mean something to SQL, to patterns or to drivers are only letters', budgetMs: 15_000,
    run: (context) => allDifferent(context, exactly(context, [
      'it\'s', 'it\'\'s', 'say "x"', 'a\\b', 'a\\\\b', 'x%', 'x_', '--x', '/*x*/', 'x;DROP TABLE t', '$1', '?', '??', ':name', '@p1', '{x}', '`x`', '[x]', 'x\ny', 'x\r\ny', 'null', 'NULL', '0', '00', '0.0', 'true',
    ])),
  },
  '07': {
    level: 'MUST', title: 'a name that looks like an encoded name is another lock',
    async run(context) {
      const real = context.name('Ünsafe')
      await allDifferent(context, [real, ...exactly(context, [real.canonical, `~${Buffer.from(real.digest).toString('hex')}`, Buffer.from(real.digest).toString('hex'), real.canonical.toLowerCase()])])
    },
  },
  '08': {
    level: 'MUST', title: 'hundreds of names are hundreds of locks', budgetMs: 60_000,
    async run(context) {
      const count = Math.min(300, context.facts.capabilities.maxLocks)
      await allDifferent(context, exactly(context, Array.from({ length: count }, (_, index) => `order-${index}`)))
    },
  },
  '09': {
    level: 'MUST', title: 'names whose SHA-256 agrees in 32 bits are different locks', budgetMs: 20_000,
    async run(context) {
      // Keys of 32 bits collide by chance in tens of thousands of names; two names that do are searched for, from both ends.
      await allDifferent(context, [...collidingNames(context, 0), ...collidingNames(context, 4)])
    },
  },
})

/** Takes each of the names on one connection: what counts as the same lock is refused or not granted, and a re-entrant grant is seen by another. */
async function allDifferent(context: CaseContext, names: readonly LockName[]): Promise<void> {
  assert.equal(new Set(names.map(({ canonical }) => canonical)).size, names.length, 'the case compares different names')
  const [first, second] = [await context.open(), await context.open()]
  // Alternately, so that a session that may take its own lock twice does not hide that two names are one.
  for (const [index, name] of names.entries()) await context.take(index % 2 === 0 ? first : second, name)
  for (const [index, name] of names.entries()) {
    if (index < 40) await context.mustBeRefused(index % 2 === 0 ? second : first, name, 'each name is held')
  }
}

/** Names of exactly these texts. */
function exactly(context: CaseContext, texts: readonly string[]): readonly LockName[] {
  return texts.map((text) => context.exactName(text))
}
