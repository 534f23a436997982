import { describe, expect, it } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { encodeLockName, lockKey64, lockName, type LockKind } from '../../src/spi/lock-name.ts'

const user = (name: string, namespace = 'a'): ReturnType<typeof lockName> => lockName(namespace, 'user', name)
const encoded = (name: string, namespace?: string): string => encodeLockName(user(name, namespace), 64)
const code = (work: () => unknown): string => {
  try { work() } catch (error) { return isSchedError(error) ? error.code : String(error) }
  return 'accepted'
}

describe('frozen: two versions of the library exclude each other during a rolling deploy', () => {
  const golden: readonly (readonly [namespace: string, kind: LockKind, name: string, at64: string, at190: string, key64: bigint])[] = [
    ['billing', 'user', 'order-close', '7:billing:u:order-close', '7:billing:u:order-close', 4082929189622400851n],
    ['billing', 'task', 'daily-cleanup', '7:billing:t:daily-cleanup', '7:billing:t:daily-cleanup', -5799202154760116872n],
    ['billing', 'core', 'migration', '7:billing:c:migration', '7:billing:c:migration', -8265240605651312625n],
    ['a', 'user', 'Order-Close', '1:a:u:order~a4jibwupn3h7vebikyfzcth574yq6ezhzvlrgmwc2kkpytnlvhaa', '1:a:u:order-close~a4jibwupn3h7vebikyfzcth574yq6ezhzvlrgmwc2kkpytnlvhaa', 509611384043917306n],
    ['a', 'user', 'order-close ', '1:a:u:order~3lzkcoxeyikce5metd4p3bi3iizqu3emwvsn66uqavhp33kebw7q', '1:a:u:order-close_~3lzkcoxeyikce5metd4p3bi3iizqu3emwvsn66uqavhp33kebw7q', -2669894354759183326n],
    ['a', 'user', 'x~aaaa', '1:a:u:x_aaa~6fznrcltmrnvrdarykmicfvawwukpeghxpuokamxq2mgvye4bbma', '1:a:u:x_aaaa~6fznrcltmrnvrdarykmicfvawwukpeghxpuokamxq2mgvye4bbma', -1048537678365828264n],
    ['a', 'user', 'caf\u00e9', '1:a:u:caf_~6uz3q5jth3ltgmlfdwpfpqnchhp5hks6u777esezvnezk3qtlhma', '1:a:u:caf_~6uz3q5jth3ltgmlfdwpfpqnchhp5hks6u777esezvnezk3qtlhma', -778075497094523085n],
    ['a', 'user', '\u{1F512} lock', '1:a:u:___lo~b336kstomwhwuyq6pxmpnta2ppuqficxibqygzrz67jxml77fsfa', '1:a:u:___lock~b336kstomwhwuyq6pxmpnta2ppuqficxibqygzrz67jxml77fsfa', 1078582743621013354n],
    ['a', 'user', 'x'.repeat(60), '1:a:u:xxxxx~4lkmandevlwrofcvfmu3dxo2dvctr6tikd54ytejumfdidwrrtya', `1:a:u:${'x'.repeat(60)}`, -2101843794815423209n],
    ['n'.repeat(32), 'user', 'x'.repeat(255), '32:nnnnnnnn~5xkxogbjdrbhe5edu4dmfaepsru5gynj7bp53z7hacqmfurh4grq', `32:${'n'.repeat(32)}:u:${'x'.repeat(99)}`.slice(0, 137) + '~5xkxogbjdrbhe5edu4dmfaepsru5gynj7bp53z7hacqmfurh4grq', -1309009171028622734n],
    ['staging', 'user', '\\backslash', '7:staging:u~dsfpwszhgudamtmdulh3kqfn45awmsngab5dskl7ewsy6jkixxsq', '7:staging:u:_backslash~dsfpwszhgudamtmdulh3kqfn45awmsngab5dskl7ewsy6jkixxsq', 2056732480046958086n],
  ]
  it.each(golden)('%s %s %j', (namespace, kind, name, at64, at190, key64) => {
    const checked = lockName(namespace, kind, name)
    expect(encodeLockName(checked, 64)).toBe(at64)
    expect(encodeLockName(checked, 190)).toBe(at190)
    expect(lockKey64(checked)).toBe(key64)
  })
})

describe('one string for one lock, one lock for one string', () => {
  it('keeps names apart that differ by case, by a trailing space, or by kind', () => {
    const names = ['order', 'Order', 'ORDER', 'order ', ' order', 'order\t', 'order\u00a0']
    expect(new Set(names.map((name) => encoded(name))).size).toBe(names.length)
    expect(new Set(names.map((name) => lockKey64(user(name)))).size).toBe(names.length)
    const kinds = (['task', 'user', 'core'] as const).map((kind) => encodeLockName(lockName('a', kind, 'order'), 64))
    expect(new Set(kinds).size).toBe(3)
  })

  it('keeps a name apart that looks like the hashed form of another', () => {
    const hashed = encoded('Order-Close')
    const pretender = hashed.slice('1:a:u:'.length)
    expect(encoded(pretender)).not.toBe(hashed)
    // Only hashed forms contain `~`, so a readable form can never equal one.
    expect(encoded('order')).not.toContain('~')
    expect(encoded('a~b')).toMatch(/~[a-z2-7]{52}$/)
  })

  it('keeps namespaces apart whose names contain the separators', () => {
    expect(encoded('c', 'a-b')).not.toBe(encoded('b:u:c', 'a'))
    expect(encoded('x:u:y', 'a')).not.toBe(encoded('y', 'a'))
    expect(user('u:x', 'a').canonical).not.toBe(user('x', 'a').canonical)
    expect(code(() => user('b', 'a:u'))).toBe('SCHED_NAMESPACE_INVALID')
  })

  it('takes both Unicode spellings of one name for one lock', () => {
    expect(encoded('cafe\u0301')).toBe(encoded('caf\u00e9'))
    expect(lockKey64(user('cafe\u0301'))).toBe(lockKey64(user('caf\u00e9')))
    // Compatibility forms are other names.
    expect(encoded('\ufb01le')).not.toBe(encoded('file'))
  })

  it('is injective over many names and fits every length that a database allows', () => {
    const names = Array.from({ length: 2000 }, (_, index) => [`${index}`, `n~${index}`, `N${index}`, `${'long '.repeat(20)}${index}`, `\u{1F600}${index}`]).flat()
    for (const length of [56, 64, 128, 190]) {
      const forms = names.map((name) => encodeLockName(user(name), length))
      expect(new Set(forms).size).toBe(names.length)
      const fits = new RegExp(`^[a-z0-9_.:~-]{1,${length}}$`)
      expect(forms.filter((form) => !fits.test(form))).toEqual([])
    }
    expect(() => encodeLockName(user('x'), 55)).toThrow(RangeError)
  })
})

describe('refuses what a database could not tell apart', () => {
  it.each([
    ['an empty name', ''], ['NUL', 'a\0b'], ['a lone high surrogate', 'a\ud83d'], ['a lone low surrogate', '\udd12a'],
    ['256 characters', 'x'.repeat(256)], ['256 emoji', '\u{1F512}'.repeat(256)],
  ])('%s', (_, name) => { expect(code(() => user(name))).toBe('SCHED_LOCK_NAME_INVALID') })

  it('what is no string', () => {
    for (const name of [undefined, null, 7, {}, ['a']]) expect(code(() => user(name as never))).toBe('SCHED_LOCK_NAME_INVALID')
  })

  it('but takes 255 characters of any size', () => {
    expect(code(() => user('x'.repeat(255)))).toBe('accepted')
    expect(code(() => user('\u{1F512}'.repeat(255)))).toBe('accepted')
  })

  it('and namespaces other than 1 to 32 of a-z 0-9 _ -', () => {
    for (const namespace of ['', 'A', 'a b', 'a:b', 'a.b', 'é', 'n'.repeat(33), null]) expect(code(() => lockName(namespace!, 'user', 'x'))).toBe('SCHED_NAMESPACE_INVALID')
    expect(code(() => user('x', `${'n'.repeat(30)}_-`))).toBe('accepted')
  })

  it('says what is wrong without repeating a long name', () => {
    expect(() => user('x'.repeat(5000))).toThrow(/5000 characters/)
    try { user('x'.repeat(5000)) } catch (error) { expect((error as Error).message.length).toBeLessThan(300) }
  })
})
