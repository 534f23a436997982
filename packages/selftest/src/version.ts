import { readFileSync } from 'node:fs'

/** The version of this package, from its manifest: one directory up, from `src` as from `dist`. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
