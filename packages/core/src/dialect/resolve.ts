import { SchedError, asError, isSchedError } from '../errors.ts'
import type { Dialect, DialectModule } from '../spi/dialect.ts'
import { redactSecrets, redactUrl } from '../spi/redact.ts'
import { applicationFolders, findModule } from './find-module.ts'
import { lockTableDialect, lockTablePrefix, officialDialects, schemeOf } from './schemes.ts'

export interface ResolveOptions {
  /** A module specifier or path that exports the dialect, instead of the one the scheme names (`--dialect`). */
  module?: string
  /** Folders to resolve from. Default: the working directory, then the folder of the entry script. Never this package. */
  from?: readonly string[]
}

/**
 * The dialect for a URL: official schemes by a fixed table, others as `@sched/dialect-<scheme>`, then `sched-dialect-<scheme>`;
 * `locktable+<scheme>://…` is the lock table on the database of the inner URL. Imports the package and connects to nothing.
 * @throws SchedError SCHED_DIALECT_UNKNOWN, SCHED_DIALECT_NOT_INSTALLED, SCHED_DIALECT_INVALID, SCHED_OPTION_INVALID
 */
export async function resolveDialect(url: string, options: ResolveOptions = {}): Promise<Dialect> {
  const scheme = checkScheme(url)
  const folders = options.from ?? applicationFolders()
  if (scheme.startsWith(lockTablePrefix)) {
    const inner = await resolveDialect(url.slice(lockTablePrefix.length), options)
    const loaded = await load(lockTableDialect.module, folders, lockTableDialect.install)
    if (loaded === undefined) throw notInstalled(scheme, lockTableDialect.install, [lockTableDialect.module], folders)
    const { lockTable } = loaded as { lockTable?: (inner: Dialect) => Dialect }
    if (typeof lockTable !== 'function') throw invalid(lockTableDialect.module, 'does not export the function "lockTable"')
    return lockTable(inner)
  }
  const { found, module } = await findDialect(scheme, options.module, folders)
  return create(checkModule(module, found, scheme), found, url)
}

/** The scheme, checked without importing anything. @throws SchedError SCHED_DIALECT_UNKNOWN */
export function checkScheme(url: string): string {
  const scheme = schemeOf(url)
  if (scheme !== undefined && (scheme === lockTablePrefix.slice(0, -1) || scheme === lockTablePrefix)) {
    throw new SchedError('SCHED_DIALECT_UNKNOWN', `the URL ${redactUrl(url)} names no database for the lock table.`, { remedy: 'Write the database behind it, e.g. locktable+postgres://…' })
  }
  if (scheme !== undefined && (scheme.startsWith(lockTablePrefix) || /^[a-z0-9.-]+$/.test(scheme))) return scheme
  throw new SchedError('SCHED_DIALECT_UNKNOWN', `the URL ${redactUrl(url)} has no scheme that names a database.`, { remedy: `Expected one of ${[...officialDialects.keys()].join(', ')}, e.g. postgres://… or sqlite:./sched.db.` })
}

async function findDialect(scheme: string, explicit: string | undefined, folders: readonly string[]): Promise<{ found: string; module: object }> {
  const official = officialDialects.get(scheme)
  const candidates = explicit !== undefined ? [explicit] : official !== undefined ? [official.module] : [`@sched/dialect-${scheme}`, `sched-dialect-${scheme}`]
  for (const found of candidates) {
    const module = await load(found, folders, official?.module === found ? official.install : found)
    if (module !== undefined) return { found, module }
  }
  if (explicit !== undefined) throw notInstalled(scheme, explicit, candidates, folders)
  if (official !== undefined) throw notInstalled(scheme, official.install, candidates, folders)
  throw new SchedError('SCHED_DIALECT_UNKNOWN', `no dialect answers the scheme "${scheme}": neither ${candidates.join(' nor ')} was found from ${folders.join(' or ')}.`, {
    remedy: `Install one of them, name a module with --dialect, or use one of ${[...officialDialects.keys()].join(', ')}.`, details: { scheme },
  })
}

async function load(specifier: string, folders: readonly string[], install: string): Promise<object | undefined> {
  const url = findModule(specifier, folders)
  if (url === undefined) return undefined
  try {
    return await import(url) as object
  } catch (thrown) {
    const error = asError(thrown)
    const missing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    throw new SchedError(missing ? 'SCHED_DIALECT_NOT_INSTALLED' : 'SCHED_DIALECT_INVALID', `the dialect ${specifier} was found but could not be loaded: ${error.message}.`, {
      cause: error, remedy: missing ? `Install what it needs: npm install ${install}` : `Look at ${url}; it failed while it was imported.`,
    })
  }
}

function checkModule(module: object, found: string, scheme: string): DialectModule {
  const { sched } = module as { sched?: Partial<DialectModule> }
  if (typeof sched !== 'object' || sched === null) throw invalid(found, 'has no export "sched"')
  if (sched.spiVersion !== 1) throw invalid(found, `was written for version ${String(sched.spiVersion)} of the SPI, and this core speaks version 1`)
  if (!Array.isArray(sched.schemes) || typeof sched.create !== 'function') throw invalid(found, 'exports "sched" without "schemes" or "create"')
  if (!sched.schemes.includes(scheme)) throw invalid(found, `does not answer the scheme "${scheme}", only ${sched.schemes.join(', ')}`)
  return sched as DialectModule
}

function create(module: DialectModule, found: string, url: string): Dialect {
  let dialect: Dialect
  try {
    dialect = module.create(url)
  } catch (thrown) {
    if (isSchedError(thrown)) throw thrown
    const error = asError(thrown)
    // The original may quote the URL, password included: only its redacted text goes on.
    throw new SchedError('SCHED_OPTION_INVALID', `the dialect ${found} does not accept the URL ${redactUrl(url)}: ${redactSecrets(error.message, url)}.`)
  }
  if (dialect?.spiVersion !== 1 || dialect.locks === undefined) throw invalid(found, 'made something that is no dialect of version 1 of the SPI')
  return dialect
}

function invalid(found: string, why: string): SchedError {
  return new SchedError('SCHED_DIALECT_INVALID', `the module ${found} ${why}.`, { remedy: 'Update it together with @sched/core; docs/writing-a-dialect.md says what a dialect exports.', details: { module: found } })
}

function notInstalled(scheme: string, install: string, tried: readonly string[], folders: readonly string[]): SchedError {
  return new SchedError('SCHED_DIALECT_NOT_INSTALLED', `the dialect for "${scheme}" is not installed: ${tried.join(', ')} was not found from ${folders.join(' or ')}.`, {
    remedy: `Run: npm install ${install}`, details: { scheme, install },
  })
}
