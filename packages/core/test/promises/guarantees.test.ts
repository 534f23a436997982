import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { sentences } from './sentences.ts'
import { titledTests } from './titled-tests.ts'

const document = new URL('../../../../docs/guarantees.md', import.meta.url)

/** The document as the tests say it. `UPDATE_DOCS=1` writes it. */
function guarantees(): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|')
  const sections = Object.entries(sentences).map(([promise, list]) => {
    const rows = list.map(([sentence, patterns]) => {
      const names = patterns.map((pattern) => titledTests.find(({ title }) => pattern.test(title)))
      return `| ${cell(sentence)} | ${names.map((found) => (found === undefined ? 'none' : `${cell(found.title)} (\`${found.file}\`)`)).join('<br>')} |`
    })
    return `## ${promise}\n\n| sentence | tests that fail without it |\n|---|---|\n${rows.join('\n')}\n`
  })
  return `# Guarantees

Each sentence of the promises P1 to P12 of [architecture.md](architecture.md#where-each-promise-lives), of which the [README](../README.md) is the short form, and tests of
\`packages/core/test\` that fail without it. Written by \`packages/core/test/promises/guarantees.test.ts\`; \`mutants.ts\` beside it breaks the code on
purpose and shows which test notices. The locks' own promises (P3, P4, P5, P7, P10, P11) are kept by \`packages/core/test/locks\`, the dialects' tests and the conformance
suite as well.

${sections.join('\n')}`
}

it('docs/guarantees.md names the tests that are there', () => {
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(document, guarantees())
  expect(readFileSync(document, 'utf8')).toBe(guarantees())
})
