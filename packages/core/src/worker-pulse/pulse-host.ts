import { SchedError, asError, isSchedError } from '../errors.ts'
import { resolveDialect } from '../dialect/resolve.ts'
import { NodeLease, type NodeLife } from '../executor/node-lease.ts'
import { NodeSessions } from '../executor/node-sessions.ts'
import { checkOptions } from '../executor/scheduler-options.ts'
import type { PulseSession } from '../ledger/ledger.ts'
import type { Dialect } from '../spi/dialect.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import type { Heartbeat } from '../ledger/heartbeat.ts'
import { HeldVetoes } from './held-vetoes.ts'
import { LeaseMemory } from './lease-memory.ts'
import { LivenessWatch } from './liveness.ts'
import type { Call, Calls, CallName, FromThread, ThreadData, ToThread } from './protocol.ts'
import { RelayingClock } from './relaying-clock.ts'
import { threadClock } from './thread-clock.ts'
import { fromWire, toWire } from './wire-error.ts'

interface Opened { readonly dialect: Dialect; readonly sessions: NodeSessions; readonly lease: NodeLease; readonly watch: LivenessWatch; readonly vetoes: HeldVetoes | undefined }

/** The thread's side: the pulse session with the node's lease and, where the veto is on, its locks. Obeys the main thread's messages. */
export class PulseHost {
  readonly #data: ThreadData
  readonly #tell: (message: FromThread) => void
  readonly #close: () => void
  #opened: Opened | undefined
  #life: NodeLife | undefined
  #memory: LeaseMemory | undefined
  /** The main thread's turns when it was told of a heartbeat last. */
  #toldAt: bigint | undefined

  constructor(data: ThreadData, tell: (message: FromThread) => void, close: () => void) {
    this.#data = data
    this.#tell = tell
    this.#close = close
  }

  receive(message: ToThread): void {
    switch (message.kind) {
      case 'call': return void this.#answer(message.id, message.call)
      case 'beat-soon': return this.#opened?.lease.beatSoon()
      case 'lost': {
        if (this.#life?.nodeId !== message.nodeId) return
        this.#life.lose(fromWire(message.error) as SchedError)
        this.#opened?.lease.beatSoon()
      }
    }
  }

  /** The thread ends without having been told to. The main thread may be blocked: it reads this at its next look. */
  abandon(): void {
    const reason = new SchedError('SCHED_LEASE_LOST', 'the worker thread that renewed the lease has ended.')
    this.#memory?.lose(reason)
    this.#opened?.vetoes?.abandon(reason)
  }

  async #answer(id: number, call: Call): Promise<void> {
    try {
      this.#tell({ kind: 'answer', id, value: await this.#perform(call) })
    } catch (thrown) {
      this.#tell({ kind: 'refusal', id, error: toWire(asError(thrown)) })
    } finally {
      if (call.name === 'stop') this.#close()
    }
  }

  async #perform(call: Call): Promise<Calls[CallName]['answer']> {
    switch (call.name) {
      case 'start': {
        this.#opened = this.#open(await resolveDialect(this.#data.url, { from: this.#data.folders }))
        await firstOpening(this.#opened.sessions.pulse)
        await this.#opened.lease.start()
        return undefined
      }
      case 'sample': return void await this.#opened?.lease.sampleClock()
      case 'stop': return void await this.#stop(call.retire)
      case 'take': return this.#vetoes.take(call.task)
      case 'release': return void await this.#vetoes.release(call.hold)
      case 'holder': return this.#vetoes.holder(call.task)
    }
  }

  get #vetoes(): HeldVetoes {
    const vetoes = this.#opened?.vetoes
    if (vetoes === undefined) throw new RangeError('there are no veto locks in this set-up')
    return vetoes
  }

  #open(dialect: Dialect): Opened {
    const { url, namespace, tables, probe, veto, leaseMs, heartbeatMs, marginMs, node, liveness } = this.#data
    const { store } = dialect
    if (store === undefined) throw new SchedError('SCHED_CAPABILITY_MISSING', `the dialect ${dialect.name} has locks but no store.`, { remedy: 'Give createScheduler a database for the ledger.' })
    const options = checkOptions<never>({ url, leaseMs, heartbeatMs, pulse: 'worker' })
    const sessions = new NodeSessions({
      options, store, tables, namespace, probe, veto: veto === undefined ? undefined : { source: dialect.locks, probe: veto },
      onLockSessionLost: (error) => this.#tell({ kind: 'lock-session-lost', error: toWire(error) }),
    })
    const vetoes = veto === undefined ? undefined : new HeldVetoes({
      namespace, clock: threadClock, lockSession: () => sessions.lockSession(), tied: veto.capabilities.kind === 'session', tell: this.#tell,
    })
    const watch = new LivenessWatch(liveness, { clock: threadClock, heartbeatMs, ask: () => this.#tell({ kind: 'ask' }) })
    const lease = new NodeLease({
      ledger: { tables, sql: store.sql, namespace }, pulse: sessions.pulse, clock: threadClock, random: Math.random, databaseClock: new RelayingClock(threadClock, this.#tell), leaseMs, heartbeatMs, marginMs, node,
      beforeBeat: () => sessions.judgeLocks(),
      mustEnd: () => this.#mustEnd(watch),
      onRegistered: (life) => this.#registered(life),
      onBeat: (beat, sent) => { sessions.renewed(sent); this.#beat(beat) },
      onLost: (life) => this.#lost(life),
      onError: (error) => this.#failed(error),
    })
    return { dialect, sessions, lease, watch, vetoes }
  }

  #mustEnd(watch: LivenessWatch): SchedError | undefined {
    const reason = watch.hung()
    // Nobody over there can give the locks back, and the next holder needs them.
    if (reason !== undefined) this.#opened?.vetoes?.revoke(reason).catch((error: unknown) => this.#failed(asError(error)))
    return reason
  }

  #registered(life: NodeLife): void {
    this.#life = life
    this.#memory = new LeaseMemory()
    this.#memory.extend(threadClock, life.leftMs())
    this.#tell({ kind: 'registered', nodeId: life.nodeId, memory: this.#memory.buffer })
    const lost = life.judge()
    if (lost !== undefined) this.#memory.lose(lost)
  }

  #beat(beat: Heartbeat): void {
    const { nodeId } = this.#life as NodeLife
    this.#memory?.extend(threadClock, (this.#life as NodeLife).leftMs())
    this.#opened?.vetoes?.renewed().catch((error: unknown) => this.#failed(asError(error)))
    // Heartbeats need not wait in a row behind a blocked event loop: what they say is old by the time it turns.
    const turns = this.#opened?.watch.turns
    if (turns === this.#toldAt) return
    this.#toldAt = turns
    this.#tell({ kind: 'beat', nodeId, beat })
  }

  #lost(life: NodeLife): void {
    const reason = life.judge() as SchedError
    if (life === this.#life) this.#memory?.lose(reason)
    this.#tell({ kind: 'life-lost', nodeId: life.nodeId, error: toWire(reason) })
  }

  #failed(error: Error): void { this.#tell({ kind: 'beat-failed', error: toWire(error) }) }

  async #stop(retire: boolean): Promise<void> {
    const { lease, sessions, dialect } = this.#opened ?? {}
    try {
      await lease?.stop(retire)
    } finally {
      sessions?.close()
      await dialect?.close()
    }
  }
}

const firstOpeningMs = 10_000

/** The first opening loads the driver too, which the limit of one call makes no allowance for. @throws SchedError what the database says */
async function firstOpening(pulse: PulseSession): Promise<void> {
  const watch = startStopwatch(threadClock)
  for (;;) {
    try {
      await pulse.open()
      return
    } catch (error) {
      const tooSlow = isSchedError(error, 'SCHED_DATABASE_UNREACHABLE') && error.details['deadlineMs'] !== undefined
      if (!tooSlow || watch.elapsedMs() > firstOpeningMs) throw error
    }
  }
}
