import type { PhysicalSession } from '../session/physical-session.ts'

/** Where physical sessions come from. */
export interface Connector<TClient = unknown> {
  /** How many sessions it can give at the same time; undefined: as many as the server allows. */
  readonly limit: number | undefined
  /** True when the sessions carry no program name of ours: it is said at login, and a pool has logged in already. */
  readonly unnamed: boolean
  /** `label`: how the session is shown to the operator. */
  connect(signal: AbortSignal, label: string): Promise<PhysicalSession<TClient>>
  /** Destroys the sessions that are still open and gives no more. Idempotent. */
  close(): void
}
