import { describe, expect, it } from 'vitest'
import { plainRow } from '../src/session/row-values.ts'

const cell = (type: string, value: unknown): { metadata: { colName: string; type: { name: string } }; value: unknown } => ({ metadata: { colName: 'Col', type: { name: type } }, value })

describe('a row of the driver', () => {
  it.each([
    ['BigInt', '42', 42], ['IntN', '-9007199254740991', -9_007_199_254_740_991], ['BigInt', 7n, 7], ['Int', 3, 3], ['Bit', true, 1], ['BitN', false, 0], ['NVarChar', '42', '42'],
    ['NVarChar', 'a \u001f', 'a '], ['IntN', null, null], ['Float', 0.5, 0.5],
  ])('%s %s is %s', (type, value, plain) => {
    expect(plainRow([cell(type, value)])).toEqual({ col: plain })
    expect(plainRow({ Col: cell(type, value) })).toEqual({ col: plain }) // useColumnNames
  })

  it('is refused rather than changed: an integer too large, a date, bytes', () => {
    expect(() => plainRow([cell('BigInt', '9007199254740993')])).toThrow(RangeError)
    for (const value of [new Date(), Buffer.alloc(1)]) expect(() => plainRow([cell('DateTime2', value)])).toThrow(TypeError)
  })
})
