import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { sqlite } from '../../src/index.ts'
import type { Place } from './on-place.ts'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** An empty directory outside of the checkout. */
export function temporaryDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'sched-locktable-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export const sqlitePlace: Place = {
  title: 'SQLite',
  sharedSessions: false,
  async open() {
    const directory = temporaryDirectory()
    return { dialect: sqlite({ file: join(directory.path, 'locks.db') }), end: async () => directory.remove() }
  },
}
