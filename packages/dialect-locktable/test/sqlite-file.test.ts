import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnNode } from '@sched-dev/databases'
import { afterAll, describe, expect, it } from 'vitest'
import { isSchedError, type OpenOptions, type SchedError } from '@sched/core/spi'
import { sqlite } from '../src/sqlite/index.ts'
import { temporaryDirectory } from './support/sqlite-place.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const options: OpenOptions = { signal: new AbortController().signal, leaseMs: 2_000, label: 'test' }

async function openingFault(file: string): Promise<{ probe: unknown; open: unknown; dialect: ReturnType<typeof sqlite> }> {
  const dialect = sqlite({ file })
  const fault = (work: Promise<unknown>): Promise<unknown> => work.then(() => undefined, (error: unknown) => error)
  const probe = await fault(dialect.store!.probe(options))
  const open = await fault(dialect.store!.open('store', { ...options, statementMs: 500, rowLockMs: 100, sharedSessions: false }))
  return { probe, open, dialect }
}

describe('the SQLite file', () => {
  it.each([':memory:', 'file::memory:', 'file:x?mode=memory', 'file:/tmp/x.db', '', 'a\0b', undefined, 7])('P11: %j is refused when the dialect is made', (file) => {
    const make = (): unknown => sqlite({ file: file as string })
    expect(make).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID' }) as Error)
  })

  it('is not made by a probe, and is by the first session', async () => {
    const file = join(directory.path, 'fresh.db')
    const dialect = sqlite({ file })
    expect(await dialect.locks.probe(options)).toEqual({
      product: 'SQLite', version: process.versions.sqlite, scope: 'main', sharedSessions: false, findings: [], capabilities: dialect.locks.capabilities,
    })
    expect(existsSync(file)).toBe(false)
    const session = await dialect.store!.open('store', { ...options, statementMs: 500, rowLockMs: 100, sharedSessions: false })
    expect(existsSync(file)).toBe(true)
    session.destroy()
    expect(await dialect.store!.probe(options)).toMatchObject({ product: 'SQLite', findings: [] })
    expect(readdirSync(directory.path)).toEqual(['fresh.db']) // the last handle takes the log with it
  })

  it('stays the same when the working directory changes', async () => {
    const before = process.cwd()
    process.chdir(directory.path)
    const dialect = sqlite({ file: 'relative.db' })
    process.chdir(before)
    const session = await dialect.store!.open('store', { ...options, statementMs: 500, rowLockMs: 100, sharedSessions: false })
    session.destroy()
    expect(existsSync(join(directory.path, 'relative.db'))).toBe(true)
  })

  it('P10: a directory that does not exist is named, with the way out', async () => {
    const { probe, open, dialect } = await openingFault(join(directory.path, 'nowhere', 'x.db'))
    for (const fault of [probe, open]) {
      expect(isSchedError(fault, 'SCHED_DATABASE_UNREACHABLE')).toBe(true)
      expect((fault as SchedError).message).toContain(join(directory.path, 'nowhere'))
      expect((fault as SchedError).remedy).toContain('Create the directory')
      expect(dialect.store!.classify(fault)).toBe('connection-lost')
    }
  })

  it('P10: a path through a file, and a directory in its place, say so', async () => {
    writeFileSync(join(directory.path, 'plain'), '')
    mkdirSync(join(directory.path, 'folder.db'))
    expect((await openingFault(join(directory.path, 'plain', 'x.db'))).open).toMatchObject({ code: 'SCHED_DATABASE_UNREACHABLE' })
    expect((await openingFault(join(directory.path, 'folder.db'))).open).toMatchObject({ code: 'SCHED_DATABASE_UNREACHABLE' })
  })

  it('P10: a file that is something else is an error at the probe and at opening, and is left as it is', async () => {
    const file = join(directory.path, 'letter.db')
    const letter = 'Dear reader,\n'.repeat(200)
    writeFileSync(file, letter)
    const { probe, open, dialect } = await openingFault(file)
    for (const fault of [probe, open]) {
      expect(fault).toMatchObject({ code: 'SCHED_DATABASE_UNREACHABLE', retryable: false, cause: { errcode: 26 } })
      expect((fault as SchedError).message).toContain(file)
      expect(dialect.store!.classify(fault)).toBe('unknown')
    }
    expect(readFileSync(file, 'utf8')).toBe(letter)
    expect(readdirSync(directory.path).filter((name) => name.startsWith('letter'))).toEqual(['letter.db'])
  })

  it.skipIf(process.platform === 'win32')('P10: a file or directory without write access says which, and what to grant', async () => {
    const child = spawnNode(new URL('./processes/restricted-user.ts', import.meta.url), [directory.path])
    const { file, folder, raw } = await child.line<{ file: unknown; folder: unknown; raw: unknown }>((line) => 'file' in line, 40_000)
    expect(file).toEqual({ probe: 'SCHED_READ_ONLY', open: 'SCHED_READ_ONLY', errorClass: 'read-only' })
    expect(folder).toEqual({ probe: 'SCHED_PERMISSION', open: 'SCHED_PERMISSION', errorClass: 'permission' })
    expect(raw).toBe('read-only') // and what SQLite itself says
  })
})
