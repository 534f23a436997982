import type { Heartbeat } from '../ledger/heartbeat.ts'
import type { NodeRegistration } from '../ledger/nodes.ts'
import type { ClockSample } from '../executor/database-clock.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { LockProbe, Probe } from '../spi/probe.ts'
import type { Tables } from '../spi/store-dialect.ts'
import type { WireError } from './wire-error.ts'

/** What the thread is started with. */
export interface ThreadData {
  readonly url: string
  /** Where dialects are resolved from: the thread's own entry script is ours, not the application's. */
  readonly folders: readonly string[]
  readonly namespace: string
  readonly tables: Tables
  readonly probe: Probe
  /** What the probe of the veto's lock source found; undefined: no veto. */
  readonly veto: LockProbe | undefined
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly marginMs: number
  readonly node: Omit<NodeRegistration, 'nodeId'>
  /** Of `Liveness`. */
  readonly liveness: SharedArrayBuffer
}

/** A veto lock that the thread holds. `memory` is of a `LeaseMemory`. */
export interface TakenVeto { readonly hold: number; readonly memory: SharedArrayBuffer }

/** What the main thread asks for and waits for. */
export interface Calls {
  /** Registers the node and begins to beat. */
  start: { ask: Record<never, never>; answer: undefined }
  /** Reads the database's clock; the sample comes as a message before the answer. */
  sample: { ask: Record<never, never>; answer: undefined }
  /** Heartbeat last, then the thread ends. */
  stop: { ask: { readonly retire: boolean }; answer: undefined }
  take: { ask: { readonly task: string }; answer: TakenVeto | 'refused' }
  release: { ask: { readonly hold: number }; answer: undefined }
  holder: { ask: { readonly task: string }; answer: LockHolder | null }
}

export type CallName = keyof Calls

export type Call = { readonly [N in CallName]: { readonly name: N } & Calls[N]['ask'] }[CallName]

export type ToThread =
  | { readonly kind: 'call'; readonly id: number; readonly call: Call }
  | { readonly kind: 'beat-soon' }
  /** The main thread has judged the life lost: it must not be renewed. */
  | { readonly kind: 'lost'; readonly nodeId: string; readonly error: WireError }

export type Answer =
  | { readonly kind: 'answer'; readonly id: number; readonly value: Calls[CallName]['answer'] }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: WireError }

/** What the thread tells unasked. */
export type Notice =
  | { readonly kind: 'registered'; readonly nodeId: string; readonly memory: SharedArrayBuffer }
  | { readonly kind: 'beat'; readonly nodeId: string; readonly beat: Heartbeat }
  | { readonly kind: 'beat-failed'; readonly error: WireError }
  | { readonly kind: 'life-lost'; readonly nodeId: string; readonly error: WireError }
  | { readonly kind: 'veto-lost'; readonly hold: number; readonly error: WireError }
  | { readonly kind: 'lock-session-lost'; readonly error: WireError }
  | { readonly kind: 'sample'; readonly sample: ClockSample }
  | { readonly kind: 'clock-reset' }
  /** Does the event loop turn? Any message would do: whatever arrives is an answer. */
  | { readonly kind: 'ask' }

export type FromThread = Answer | Notice
