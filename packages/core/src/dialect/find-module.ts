import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The folders an application resolves its packages from: the working directory, then that of the entry script. */
export function applicationFolders(): readonly string[] {
  const entry = process.argv[1]
  const folders = [process.cwd()]
  // `node --eval` has no script, and a loader may leave a name that is no file.
  if (entry !== undefined && existsSync(entry)) folders.push(resolve(realpathSync(entry), '..'))
  return [...new Set(folders)]
}

/**
 * The URL to import a module by, as if a file in one of the folders imported it; undefined when none of them knows it.
 * `import.meta.resolve` resolves from here only, and `require.resolve` refuses packages that export to `import` alone, so the
 * package's manifest is read.
 */
export function findModule(specifier: string, folders: readonly string[]): string | undefined {
  if (specifier.startsWith('file:')) return specifier
  for (const folder of folders) {
    const found = isPath(specifier) ? findFile(resolve(folder, specifier)) : findPackage(specifier, folder)
    if (found !== undefined) return pathToFileURL(found).href
  }
  return undefined
}

function isPath(specifier: string): boolean { return /^\.{1,2}(\/|\\|$)/.test(specifier) || isAbsolute(specifier) }

function findFile(path: string): string | undefined { return existsSync(path) && statSync(path).isFile() ? path : undefined }

function findPackage(specifier: string, folder: string): string | undefined {
  if (process.versions['pnp'] !== undefined) return findPlugged(specifier, folder)
  const [name, subpath] = splitSpecifier(specifier)
  // As `import` looks, not as `require`: NODE_PATH, which package managers set for the commands they start, is no part of an application.
  for (let above = folder; ; above = dirname(above)) {
    const root = join(above, 'node_modules', name)
    const manifest = join(root, 'package.json')
    if (existsSync(manifest)) return entryOf(root, manifest, subpath)
    if (dirname(above) === above) return undefined
  }
}

/** Yarn's Plug'n'Play has no folders to look into; it answers through `require.resolve`. */
function findPlugged(specifier: string, folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'resolve-from-here.js')).resolve(specifier)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return undefined
    throw error
  }
}

function splitSpecifier(specifier: string): [name: string, subpath: string] {
  const parts = specifier.split('/')
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
  return [name, specifier.length === name.length ? '.' : `.${specifier.slice(name.length)}`]
}

function entryOf(root: string, manifestFile: string, subpath: string): string | undefined {
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as { exports?: unknown; main?: string }
  const { exports } = manifest
  if (exports === undefined || exports === null) {
    return findFile(subpath === '.' ? join(root, manifest.main ?? 'index.js') : join(root, subpath))
  }
  const bySubpath = typeof exports === 'object' && Object.keys(exports).some((key) => key.startsWith('.'))
  const target = importTarget(bySubpath ? (exports as Record<string, unknown>)[subpath] : subpath === '.' ? exports : undefined)
  return target === undefined ? undefined : findFile(join(root, target))
}

const conditions: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default'])

/** What `import` would take of an exports entry: the first condition that holds, in the order written. */
function importTarget(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry
  if (Array.isArray(entry)) return firstDefined(entry)
  if (typeof entry !== 'object' || entry === null) return undefined
  return firstDefined(Object.entries(entry).filter(([condition]) => conditions.has(condition)).map(([, value]) => value as unknown))
}

function firstDefined(entries: readonly unknown[]): string | undefined {
  for (const entry of entries) {
    const target = importTarget(entry)
    if (target !== undefined) return target
  }
  return undefined
}
