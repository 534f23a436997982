import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 30_000 })

/** A file for a database of a test, gone with it. */
export function sqliteFile(onFinished: (remove: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'sched-selftest-'))
  onFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'test.db')
}
