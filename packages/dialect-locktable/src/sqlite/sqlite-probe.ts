import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Finding, OpenOptions, Probe } from '@sched/core/spi'
import { checkAccess } from './database-file.ts'
import { busyTimeoutMs, namingFile, sqliteModule } from './open-database.ts'

// Magic numbers of Linux (man 2 statfs). WAL needs memory shared by all processes: https://www.sqlite.org/wal.html, "same host".
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'], [0xff534d42, 'CIFS'], [0xfe534d42, 'SMB2'], [0x517b, 'SMB'], [0x01021997, '9P'], [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'], [0x0bd00bd0, 'Lustre'], [0x01161970, 'GFS2'], [0x7461636f, 'OCFS2'], [0x65735546, 'FUSE'],
])

/** Looks at the file without making it. Rejects when it cannot be used. */
export async function probeFile(file: string, { signal }: OpenOptions): Promise<Probe> {
  checkAccess(file)
  const findings = await fileSystemFindings(dirname(file))
  signal.throwIfAborted()
  return { product: 'SQLite', version: versionOf(file), scope: 'main', sharedSessions: false, findings }
}

function versionOf(file: string): string {
  const { DatabaseSync } = sqliteModule()
  // Opening a file that is not there would make one.
  const database = new DatabaseSync(existsSync(file) ? file : ':memory:')
  try {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    database.exec('PRAGMA schema_version') // reads the header: a file that is no database is noticed here
    return String(database.prepare('SELECT sqlite_version() AS version').get()?.['version'])
  } catch (error) {
    throw namingFile(error, file)
  } finally {
    database.close()
  }
}

async function fileSystemFindings(directory: string): Promise<Finding[]> {
  if (process.platform !== 'linux') return []
  const { type } = await statfs(directory)
  const name = networkFileSystems.get(type >>> 0)
  return name === undefined ? [] : [{
    level: 'warn', code: 'SCHED_UNSAFE_ENGINE', message: `the SQLite file lies on a file system of type ${name}, where instances on different hosts would not exclude each other.`,
    remedy: 'Put the file on a local disk, and let instances on several hosts share a database server.',
  }]
}
