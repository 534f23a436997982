import type { ApplockModel, ApplockPlace, LockOwner } from './applock-model.ts'
import type { StandInKind } from './stand-in-options.ts'
import type { RpcRequest, RpcValue } from './wire-reader.ts'
import type { ServerMessage } from './wire-writer.ts'

// Parameters and return codes: https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql
// and sp-releaseapplock-transact-sql. What a peer answers instead was measured on Babelfish 4.4.0 (docs/databases.md).

export interface ProcedureContext {
  readonly applocks: ApplockModel
  readonly kind: StandInKind
  readonly session: number
  readonly database: string
  readonly inTransaction: boolean
  readonly lockTimeoutMs: number
  readonly cancelled: AbortSignal
}

export interface ProcedureResult { readonly status: number; readonly error?: ServerMessage; readonly info?: ServerMessage }

export async function getApplock(request: RpcRequest, context: ProcedureContext): Promise<ProcedureResult> {
  const call = readCall(request, context)
  if ('status' in call) return call
  const { owner, place, mode } = call
  if (mode !== 'exclusive') throw new Error(`stand-in: the mode ${String(mode)} is not modelled`)
  const waitMs = number(request, 'LockTimeout') ?? context.lockTimeoutMs
  if (waitMs < -1) return invalid(context, 'The LockTimeout is not valid.')
  const status = await context.applocks.acquire(context.session, owner, place, waitMs, context.cancelled)
  if (context.kind !== 'stock-peer') return { status }
  // As published, "held" at time-out 0 is -999 with a message, and a grant after waiting is 0.
  if (status === 1) return { status: 0 }
  return status === -1 && waitMs === 0 ? { status: -999, info: { number: 50000, severity: 0, message: 'the lock is held' } } : { status }
}

export function releaseApplock(request: RpcRequest, context: ProcedureContext): ProcedureResult {
  const call = readCall(request, context)
  if ('status' in call) return call
  if (context.applocks.release(context.session, call.owner, call.place)) return { status: 0 }
  const message = `Cannot release the application lock (Database Principal: '${call.place.principal}', Resource: '${call.place.resource}') because it is not currently held.`
  // A peer says it in an INFO message.
  return context.kind === 'sql-server' ? { status: -999, error: { number: 1223, severity: 16, message } } : { status: -999, info: { number: 1223, severity: 0, message } }
}

interface Call { readonly owner: LockOwner; readonly place: ApplockPlace; readonly mode: string | undefined }

function readCall(request: RpcRequest, context: ProcedureContext): Call | ProcedureResult {
  const resource = text(request, 'Resource')
  if (resource === undefined || resource === '') return invalid(context, 'The Resource is not valid.')
  // Both procedures default to the owner Transaction, which needs one.
  const owner = { session: 'Session', transaction: 'Transaction' }[(text(request, 'LockOwner') ?? 'Transaction').toLowerCase()] as LockOwner | undefined
  if (owner === undefined) return invalid(context, 'The LockOwner is not valid.')
  if (owner === 'Transaction' && !context.inTransaction) return invalid(context, 'The owner Transaction needs an open transaction.')
  // A peer takes locks for the whole server.
  const database = context.kind === 'sql-server' ? context.database : '*'
  return { owner, place: { database, principal: text(request, 'DbPrincipal') ?? 'public', resource }, mode: text(request, 'LockMode')?.toLowerCase() }
}

function invalid({ kind }: ProcedureContext, message: string): ProcedureResult {
  return kind === 'sql-server' ? { status: -999, error: { number: 1224, severity: 16, message: `${message} [stand-in]` } } : { status: -999, info: { number: 50000, severity: 0, message } }
}

function value({ parameters }: RpcRequest, name: string): RpcValue | undefined {
  return parameters.find((parameter) => parameter.name.toLowerCase() === `@${name.toLowerCase()}`)?.value
}

function text(request: RpcRequest, name: string): string | undefined {
  const given = value(request, name)
  return typeof given === 'string' ? given : undefined
}

function number(request: RpcRequest, name: string): number | undefined {
  const given = value(request, name)
  return typeof given === 'number' ? given : undefined
}
