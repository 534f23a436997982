import { describe, expect, it } from 'vitest'
import { markEnd, unmarkEnd } from '../src/session/kept-spaces.ts'
import { bindStatement } from '../src/session/statement.ts'

describe('a statement', () => {
  it('has its marks named and its values typed', () => {
    const { text, values } = bindStatement({ text: 'UPDATE [t] SET a = ?, b = ?, c = ? WHERE d = ?', params: ['x', 5, null, 1.5] })
    expect(text).toBe('SET NOCOUNT OFF; UPDATE [t] SET a = @p1, b = @p2, c = @p3 WHERE d = @p4')
    expect(values.map(({ name, type, value, length }) => [name, type, value, length])).toEqual([
      ['p1', 'NVarChar', 'x', 4_000], ['p2', 'BigInt', 5, undefined], ['p3', 'NVarChar', null, 4_000], ['p4', 'Float', 1.5, undefined],
    ])
    expect(bindStatement({ text: 'SELECT ?', params: ['x'.repeat(4_001)] }).values[0]?.length).toBeUndefined()
  })

  it.each([['SELECT ?', []], ['SELECT 1', [1]], ['SELECT ?, ?', [1]]])('with another number of values is a mistake: %s', (text, params) => {
    expect(() => bindStatement({ text, params })).toThrow(TypeError)
  })
})

describe('the mark behind a trailing space', () => {
  it.each(['', 'a', 'a ', 'a  ', ' a', 'a\t', 'a\u001f', 'a \u001f', 'a\u001f\u001f', ' ', '\u001f', 'ü ', '漢\u3000'])('comes off again: %j', (text) => {
    expect(unmarkEnd(markEnd(text))).toBe(text)
    expect(markEnd(text).endsWith(' ')).toBe(false)
  })

  it('keeps texts apart that only a padding comparison would call equal', () => {
    const padded = (text: string): string => text.replace(/ +$/, '')
    const texts = ['a', 'a ', 'a  ', 'a\u001f', 'a \u001f', 'a\u001f ']
    expect(new Set(texts.map((text) => padded(markEnd(text)))).size).toBe(texts.length)
  })
})
