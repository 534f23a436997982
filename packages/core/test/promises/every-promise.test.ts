import { describe, expect, it } from 'vitest'
import { sentences } from './sentences.ts'
import { titledTests } from './titled-tests.ts'

const titles = titledTests.map(({ title }) => title)

describe('every sentence of the promises', () => {
  it('finds the titles', () => {
    expect(titles.length).toBeGreaterThan(120)
  })

  for (const [promise, list] of Object.entries(sentences)) {
    it.each(list.map(([sentence, wanted]) => ({ sentence, wanted })))(`${promise}: $sentence`, ({ wanted }) => {
      for (const pattern of wanted) {
        expect(titles.filter((title) => pattern.test(title)), `a test whose title says ${String(pattern)}`).not.toEqual([])
      }
    })
  }

  it('each of P1 to P12 has tests named after it', () => {
    const counts = Array.from({ length: 12 }, (_, index) => titles.filter((title) => title.startsWith(`P${index + 1}: `)).length)
    expect(counts.map((count, index) => (count > 0 ? '' : `P${index + 1}`)).join('')).toBe('')
    expect(Object.keys(sentences)).toEqual(Array.from({ length: 12 }, (_, index) => `P${index + 1}`))
  })
})
