import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findModule } from '../../src/dialect/find-module.ts'
import { resolveDialect, type ResolveOptions } from '../../src/dialect/resolve.ts'
import type { Dialect } from '../../src/spi/dialect.ts'

let root = ''
beforeAll(() => { root = mkdtempSync(join(tmpdir(), 'sched-resolve-')) })
afterAll(() => { rmSync(root, { recursive: true, force: true }) })

let apps = 0
/** An application in a folder of its own, with these files. */
function app(files: Record<string, string>): string {
  apps += 1
  const folder = join(root, `app${apps}`)
  for (const [file, text] of Object.entries({ 'package.json': '{}', ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

const dialectSource = (schemes: string[], name = 'fixture', spiVersion = 1): string =>
  `export const sched = { spiVersion: ${spiVersion}, schemes: ${JSON.stringify(schemes)}, create: (url) => ({ spiVersion: 1, name: ${JSON.stringify(name)}, url, locks: { lockType: 'x' }, close: async () => {} }) }`
const manifest = (exports: unknown, extra: object = {}): string => JSON.stringify({ name: 'x', version: '1.0.0', type: 'module', exports, ...extra })

const resolveIn = (folder: string, url: string, options: ResolveOptions = {}): Promise<Dialect> => resolveDialect(url, { from: [folder], ...options })
const errorOf = (work: Promise<unknown>): Promise<Error & { code?: string; remedy?: string }> => work.then(() => { throw new Error('it did not reject') }, (error: unknown) => error as Error)

describe('the scheme names the package', () => {
  it.each(['postgres', 'postgresql'])('%s: and it is found from the application', async (scheme) => {
    const dialect = await resolveDialect(`${scheme}://u:p@127.0.0.1:1/db`)
    expect(dialect).toMatchObject({ spiVersion: 1, name: 'postgres' })
    await dialect.close()
  })

  it('sqlite: is part of the lock table package', async () => {
    const dialect = await resolveDialect(`sqlite:${join(root, 'some.db')}`)
    expect(dialect.locks.needsLockTable).toBe(true)
    await dialect.close()
  })

  it('locktable+X is the lock table on the dialect of X', async () => {
    const dialect = await resolveDialect('locktable+postgres://u:p@127.0.0.1:1/db')
    expect(dialect.name).toBe('locktable+postgres')
    expect(dialect.locks.lockType).toBe('locktable')
    await dialect.close()
  })

  it.each(['mysql', 'mariadb', 'sqlserver', 'mssql', 'oracle'])('%s: not installed says what to install', async (scheme) => {
    const error = await errorOf(resolveIn(app({}), `${scheme}://user:hunter2@host/db`))
    expect(error).toMatchObject({ code: 'SCHED_DIALECT_NOT_INSTALLED' })
    expect(error.remedy).toMatch(/^Run: npm install @sched\/dialect-(mysql mysql2|sqlserver tedious|oracle oracledb)$/)
    expect(inspect(error)).not.toContain('hunter2')
  })

  it('others: @sched/dialect-x, then sched-dialect-x', async () => {
    const third = app({ 'node_modules/sched-dialect-foo/package.json': manifest('./index.js'), 'node_modules/sched-dialect-foo/index.js': dialectSource(['foo'], 'third party') })
    expect((await resolveIn(third, 'foo://x')).name).toBe('third party')
    const both = app({
      'node_modules/sched-dialect-foo/package.json': manifest('./index.js'), 'node_modules/sched-dialect-foo/index.js': dialectSource(['foo'], 'third party'),
      'node_modules/@sched/dialect-foo/package.json': manifest('./index.js'), 'node_modules/@sched/dialect-foo/index.js': dialectSource(['foo'], 'official'),
    })
    expect((await resolveIn(both, 'FOO://x')).name).toBe('official')
  })

  it('a scheme that nobody answers is an error that names what was looked for', async () => {
    const error = await errorOf(resolveIn(app({}), 'foo://user:hunter2@host/db?password=hunter2'))
    expect(error).toMatchObject({ code: 'SCHED_DIALECT_UNKNOWN' })
    expect(error.message).toMatch(/@sched\/dialect-foo nor sched-dialect-foo/)
    expect(inspect(error)).not.toContain('hunter2')
    for (const url of ['no scheme', 'C:\\data\\sched.db', '://x', 'a b://x', 'locktable://x', 'foo+bar://x', 'locktable+://x']) {
      expect(await errorOf(resolveIn(app({}), url)), url).toMatchObject({ code: 'SCHED_DIALECT_UNKNOWN' })
    }
  })
})

describe('resolved from the application, whatever its packages export', () => {
  it.each<[string, unknown]>([
    ['a string', './index.js'],
    ['import only', { '.': { import: './index.js' } }],
    ['types first', { '.': { types: './index.d.ts', import: './index.js' } }],
    ['default only', { '.': { default: './index.js' } }],
    ['conditions without a subpath', { import: './index.js', require: './wrong.cjs' }],
    ['node before import', { '.': { node: { import: './index.js' }, import: './wrong.js' } }],
    ['a list', { '.': [{ browser: './wrong.js' }, './index.js'] }],
    ['import before require', { '.': { require: './wrong.cjs', import: './index.js' } }],
  ])('%s', async (_, exports) => {
    const folder = app({ 'node_modules/sched-dialect-foo/package.json': manifest(exports), 'node_modules/sched-dialect-foo/index.js': dialectSource(['foo'], 'right') })
    expect((await resolveIn(folder, 'foo://x')).name).toBe('right')
    expect((await resolveIn(join(folder), 'foo://x', { module: 'sched-dialect-foo' })).name).toBe('right')
  })

  it('main, index.js, a subpath, a package above, a link as pnpm makes them', async () => {
    const files = {
      'node_modules/by-main/package.json': JSON.stringify({ name: 'by-main', type: 'module', main: 'lib/start.js' }), 'node_modules/by-main/lib/start.js': dialectSource(['foo'], 'by main'),
      'node_modules/by-index/package.json': JSON.stringify({ name: 'by-index', type: 'module' }), 'node_modules/by-index/index.js': dialectSource(['foo'], 'by index'),
      'node_modules/@scope/sub/package.json': manifest({ './dialect': { import: './d.js' } }), 'node_modules/@scope/sub/d.js': dialectSource(['foo'], 'by subpath'),
      'store/linked/package.json': manifest('./index.js'), 'store/linked/index.js': dialectSource(['foo'], 'by link'),
      'deep/below/package.json': '{}',
    }
    const folder = app(files)
    symlinkSync(join(folder, 'store/linked'), join(folder, 'node_modules/linked'))
    for (const [module, name] of [['by-main', 'by main'], ['by-index', 'by index'], ['@scope/sub/dialect', 'by subpath'], ['linked', 'by link']]) {
      expect((await resolveIn(join(folder, 'deep/below'), 'foo://x', { module: module! })).name).toBe(name)
    }
  })

  it('an explicit module: by path, by file URL; a missing one is named', async () => {
    const folder = app({ 'my/dialect.mjs': dialectSource(['foo'], 'mine') })
    for (const module of ['./my/dialect.mjs', join(folder, 'my/dialect.mjs'), pathToFileURL(join(folder, 'my/dialect.mjs')).href]) {
      expect((await resolveIn(folder, 'foo://x', { module })).name).toBe('mine')
    }
    const error = await errorOf(resolveIn(folder, 'foo://x', { module: './my/other.mjs' }))
    expect(error).toMatchObject({ code: 'SCHED_DIALECT_NOT_INSTALLED' })
    expect(error.message).toContain('./my/other.mjs')
  })

  it('NODE_PATH is no part of an application', () => {
    const elsewhere = app({ 'modules/strange/package.json': manifest('./index.js'), 'modules/strange/index.js': '' })
    const before = process.env['NODE_PATH']
    process.env['NODE_PATH'] = join(elsewhere, 'modules')
    try {
      expect(findModule('strange', [app({})])).toBeUndefined()
    } finally {
      if (before === undefined) delete process.env['NODE_PATH']
      else process.env['NODE_PATH'] = before
    }
  })

  it('the first folder that knows it counts', () => {
    const [first, second] = [app({}), app({ 'node_modules/found/package.json': manifest('./index.js'), 'node_modules/found/index.js': '' })]
    expect(findModule('found', [first, second])).toBe(pathToFileURL(join(second, 'node_modules/found/index.js')).href)
    expect(findModule('found', [first])).toBeUndefined()
  })
})

describe('SCHED_DIALECT_INVALID: what is found is checked', () => {
  it.each<[string, string, RegExp]>([
    ['no export', 'export const other = 1', /no export "sched"/],
    ['another SPI', dialectSource(['foo'], 'x', 2), /version 2 of the SPI/],
    ['another scheme', dialectSource(['bar']), /does not answer the scheme "foo", only bar/],
    ['no create', 'export const sched = { spiVersion: 1, schemes: ["foo"] }', /without "schemes" or "create"/],
    ['makes nothing', 'export const sched = { spiVersion: 1, schemes: ["foo"], create: () => ({}) }', /no dialect of version 1/],
    ['throws while imported', 'throw new Error("broken at the top")', /could not be loaded: broken at the top/],
  ])('%s', async (_, source, message) => {
    const error = await errorOf(resolveIn(app({ 'd.mjs': source }), 'foo://x', { module: './d.mjs' }))
    expect(error).toMatchObject({ code: 'SCHED_DIALECT_INVALID' })
    expect(error.message).toMatch(message)
    expect(error.remedy).toBeTruthy()
  })

  it('a driver that is missing is not installed', async () => {
    const error = await errorOf(resolveIn(app({ 'd.mjs': 'import "no-such-driver"' }), 'foo://x', { module: './d.mjs' }))
    expect(error).toMatchObject({ code: 'SCHED_DIALECT_NOT_INSTALLED' })
    expect(error.message).toMatch(/no-such-driver/)
  })

  it('a URL that the dialect does not accept: without the credentials it may quote', async () => {
    const source = 'export const sched = { spiVersion: 1, schemes: ["foo"], create: (url) => { throw new TypeError("cannot parse " + url) } }'
    const error = await errorOf(resolveIn(app({ 'd.mjs': source }), 'foo://user:hunter2@host/db', { module: './d.mjs' }))
    expect(error).toMatchObject({ code: 'SCHED_OPTION_INVALID' })
    expect(inspect(error)).not.toContain('hunter2')
  })
})
