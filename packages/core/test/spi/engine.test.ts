import { describe, expect, it } from 'vitest'
import { doubtfulEngine, recogniseEngine, refusedEngine, type Engine, type EngineKind } from '../../src/spi/index.ts'

const others: readonly EngineKind[] = [
  { product: 'OtherDB', mark: /other/i, version: /other-(\d[\w.]*)/, locks: refusedEngine('its locks exclude nobody.', 'Use MyDB.'), store: doubtfulEngine('the ledger has not been tried on it.') },
]

function engineOf(text: string): Engine {
  const version = /^MyDB (\S+)/.exec(text)?.[1]
  return recogniseEngine(text, { others, genuine: version === undefined ? undefined : { product: 'MyDB', version }, remedy: 'Use MyDB.' })
}

describe('an engine, by what it says of itself (P11)', () => {
  it('is the genuine one', () => {
    expect(engineOf('MyDB 3.1 (x86)')).toEqual({ product: 'MyDB', version: '3.1', genuine: true, findings: { locks: [], store: [] } })
  })

  it('is another, also where it names the genuine one', () => {
    expect(engineOf('MyDB 3.1, other-0.9')).toEqual({
      product: 'OtherDB', version: '0.9', genuine: false,
      findings: {
        locks: [{ level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: 'this is OtherDB 0.9: its locks exclude nobody.', remedy: 'Use MyDB.' }],
        store: [{ level: 'warn', code: 'SCHED_UNSAFE_ENGINE', message: 'this is OtherDB 0.9: the ledger has not been tried on it.', remedy: 'Run `sched-selftest` against it before you rely on it.' }],
      },
    })
  })

  it('is another that does not tell its version', () => { expect(engineOf('other')).toMatchObject({ product: 'OtherDB', version: '(version unknown)' }) })

  it('is refused for every use when it is none of them, and quoted no longer than a line', () => {
    const finding = { level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message: `the server calls itself "${'x'.repeat(80)}", which this dialect does not know.`, remedy: 'Use MyDB.' }
    expect(engineOf('x'.repeat(500))).toEqual({ product: 'unknown', version: '(version unknown)', genuine: false, findings: { locks: [finding], store: [finding] } })
  })
})
