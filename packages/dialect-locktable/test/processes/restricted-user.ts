// Opens files that may be read but not written, as an account that is not root.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isSchedError } from '@sched/core/spi'
import { sqlite } from '../../src/sqlite/index.ts'
import { classifySqlite } from '../../src/sqlite/sqlite-errors.ts'

const base = join(process.argv[2] ?? '', 'restricted')
const options = { signal: new AbortController().signal, leaseMs: 2_000, label: 'test' }
const make = (folder: string): string => {
  mkdirSync(join(base, folder), { recursive: true })
  const file = join(base, folder, 'x.db')
  const database = new DatabaseSync(file)
  database.exec('CREATE TABLE t (a)')
  database.close()
  return file
}

const readOnly = make('open-folder')
chmodSync(join(base, 'open-folder'), 0o777)
chmodSync(readOnly, 0o444)
const inClosedFolder = make('closed-folder')
chmodSync(inClosedFolder, 0o666)
chmodSync(join(base, 'closed-folder'), 0o555)
chmodSync(base, 0o755)
chmodSync(process.argv[2] ?? '', 0o755)
if (process.getuid?.() === 0) process.setuid?.(65534)

async function faults(file: string): Promise<Record<string, unknown>> {
  const { store } = sqlite({ file })
  const fault = (work: Promise<unknown>): Promise<unknown> => work.then(() => undefined, (error: unknown) => error)
  const probe = await fault(store!.probe(options))
  const open = await fault(store!.open('store', { ...options, statementMs: 500, rowLockMs: 100, sharedSessions: false }))
  return { probe: isSchedError(probe) && probe.code, open: isSchedError(open) && open.code, errorClass: store!.classify(open) }
}

function rawClass(): string {
  try { new DatabaseSync(readOnly).exec('DROP TABLE t') } catch (error) { return classifySqlite(error) }
  return 'no error'
}

console.log(JSON.stringify({ file: await faults(readOnly), folder: await faults(inClosedFolder), raw: rawClass() }))
