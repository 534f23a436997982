import { readFileSync } from 'node:fs'
import type { Options } from 'tsup'

// One configuration for every package: the entries are what its published manifest exports.
interface Manifest { publishConfig: { exports: Record<string, string>, bin?: Record<string, string> } }
const { publishConfig } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const targets = [...Object.values(publishConfig.exports), ...Object.values(publishConfig.bin ?? {})]
const entry = [...new Set(targets.filter((path) => path.endsWith('.js')).map((path) => path.replace('./dist/', 'src/').replace(/\.js$/, '.ts')))]

const config: Options = {
  entry,
  format: 'esm',
  target: 'node22',
  splitting: true, // a class must not be copied into two entries: `instanceof` and brands would differ
  dts: true,
  clean: true,
  removeNodeProtocol: false, // `sqlite` without `node:` does not exist
}
export default config
