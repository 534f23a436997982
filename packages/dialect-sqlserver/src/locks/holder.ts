import type { LockHolder, SqlRow } from '@sched/core/spi'
import { classifySqlServer, isServerError } from '../errors/classify.ts'
import type { ApplockConnection } from './applock-connection.ts'
import { holderStatement, modeStatement } from './applock-statements.ts'
import { describedResource, visiblePart } from './lock-resource.ts'

/** Whose lock it is, by the session's own view: nobody needs a permission for it. */
export async function heldBy({ session, limitMs }: ApplockConnection, resource: string): Promise<'mine' | 'other' | 'free'> {
  const { rows: [row] } = await session.run(modeStatement(resource), limitMs)
  if (row?.['mode'] === 'Exclusive') return 'mine'
  return row?.['free'] === 1 ? 'free' : 'other'
}

const grant = 'who holds it: GRANT VIEW SERVER STATE (from 2022: VIEW SERVER PERFORMANCE STATE; Azure SQL Database: VIEW DATABASE STATE) to the login'

/** Why the view cannot be asked, for `LockHolder.notPermitted`; undefined: the error is another one. */
function obstacle(error: unknown): string | undefined {
  if (!isServerError(error)) return undefined
  const errorClass = classifySqlServer(error)
  if (errorClass === 'permission') return grant
  return errorClass === 'missing-table' || errorClass === 'unsupported' ? 'who holds it: this server has no sys.dm_tran_locks' : undefined
}

export async function holderOf(connection: ApplockConnection, resource: string): Promise<LockHolder | null> {
  const visible = visiblePart(resource)
  let rows: readonly SqlRow[]
  try {
    ({ rows } = await connection.session.run(holderStatement(visible), connection.limitMs))
  } catch (error) {
    const notPermitted = obstacle(error)
    if (notPermitted === undefined) throw error
    return heldAtAll(connection, resource, notPermitted)
  }
  const row = rows.find((candidate) => describedResource(String(candidate['description'])) === visible)
  return row === undefined ? null : described(row)
}

/** That somebody holds it can be told without the view; who does only when it is this session. */
async function heldAtAll(connection: ApplockConnection, resource: string, notPermitted: string): Promise<LockHolder | null> {
  const held = await heldBy(connection, resource)
  if (held === 'free') return null
  return held === 'mine' ? { sessionId: connection.id } : { notPermitted }
}

function described(row: SqlRow): LockHolder {
  const text = (column: string): string | undefined => {
    const value = row[column]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const [host, user, ownerLabel] = [text('host_name'), text('login_name'), text('program_name')]
  return {
    ...(typeof row['session_id'] === 'number' ? { sessionId: row['session_id'] } : {}),
    ...(ownerLabel === undefined ? {} : { ownerLabel }),
    ...(host === undefined ? {} : { host }),
    ...(user === undefined ? {} : { user }),
  }
}
