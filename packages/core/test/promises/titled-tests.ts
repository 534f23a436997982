import { globSync, readFileSync } from 'node:fs'

const tests = new URL('../', import.meta.url)

/** The tests of the core that are named after a promise, and the files they are in. */
export const titledTests: readonly { readonly title: string; readonly file: string }[] = ['ledger', 'executor', 'endurance'].flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: tests })).sort().flatMap((file) => {
  const text = readFileSync(new URL(file, tests), 'utf8').replaceAll('\\\'', '\'')
  return [...text.matchAll(/['`](P\d{1,2}(?:, P\d{1,2})*: .*?)['`](?:,|\)|$)/gm)].map(([, title]) => ({ title: title as string, file: file.replaceAll('\\', '/') }))
})
