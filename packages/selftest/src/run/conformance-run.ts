import { randomBytes } from 'node:crypto'
import type { Dialect, OpenOptions } from '@sched/core/spi'
import type { ConformanceCase } from '../case.ts'
import { coreLocks } from '../core-locks.ts'
import { describeFailure } from '../report/failure.ts'
import type { CaseResult, Measured, Product } from '../report/report.ts'
import { createLockTable, dropTables, runTables } from './lock-table.ts'
import { Observer } from './observer.ts'
import { runCase } from './run-case.ts'
import { defaultLeaseMs, shortestLeaseMs, type RunOptions } from './run-options.ts'
import { quietLeaseMs, type Scene } from './scene.ts'
import { targetSecrets } from './secrets.ts'
import { refusedBy, startFailure } from './start-failure.ts'
import { factsOf, measured, probed, productOf } from './survey.ts'

/** One run on one database: probed, with a lock table of its own where one is needed, and the cases one after the other. */
export class ConformanceRun {
  readonly probe: Product
  readonly measured: Measured
  readonly #scene: Scene
  readonly #observer: Observer
  readonly #options: RunOptions

  private constructor(parts: { probe: Product; measured: Measured; scene: Scene; observer: Observer }, options: RunOptions) {
    this.probe = parts.probe
    this.measured = parts.measured
    this.#scene = parts.scene
    this.#observer = parts.observer
    this.#options = options
  }

  /** @throws StartFailure when the target is refused as unsafe, cannot be reached, or the suite cannot work on it */
  static async start(dialect: Dialect, options: RunOptions = {}): Promise<ConformanceRun> {
    const secrets = targetSecrets(options.url)
    const leaseMs = options.leaseMs ?? defaultLeaseMs
    if (!Number.isSafeInteger(leaseMs) || leaseMs < shortestLeaseMs) throw new RangeError(`leaseMs is ${leaseMs}: expected at least ${shortestLeaseMs}`)
    const letters = randomBytes(3).toString('hex')
    const namespace = `selftest-${letters}`
    const tablePrefix = `st_${letters}_`
    const tables = runTables(dialect, tablePrefix)
    const openOptions: OpenOptions = {
      signal: options.signal ?? new AbortController().signal, leaseMs: quietLeaseMs, label: `sched:${namespace}:suite`, ...(tables === undefined ? {} : { tables }),
    }
    let product: Product | undefined
    try {
      const probe = await probed(dialect, openOptions)
      product = productOf(probe, secrets)
      const refusals = product.findings.filter(({ level }) => level === 'refuse')
      if (refusals.length > 0) throw refusedBy(refusals, product)
      const { sharedSessions } = probe
      const survey = await measured(dialect, { ...openOptions, sharedSessions }, sharedSessions)
      const facts = factsOf(dialect, probe, survey.connection, secrets)
      survey.connection.destroy()
      if (facts.lockTable && tables !== undefined) await createLockTable(dialect, tables, { ...openOptions, sharedSessions })
      const observer = new Observer(dialect.locks, { ...openOptions, label: `sched:${namespace}:observer`, sharedSessions, signal: new AbortController().signal })
      const { diagnostics } = dialect.locks
      const scene: Scene = {
        dialect, source: dialect.locks, facts, namespace, tablePrefix, tables, sharedSessions, leaseMs, secrets,
        createLocks: options.createLocks ?? coreLocks,
        promptMs: Math.ceil(1_000 + 20 * survey.measured.roundTripMs),
        janitor: (work) => observer.ask(work),
        observe: async (question) => {
          if (diagnostics === undefined) throw new Error('the source has no diagnostics')
          return observer.ask((connection) => question(diagnostics, connection))
        },
      }
      return new ConformanceRun({ probe: product, measured: survey.measured, scene, observer }, options)
    } catch (thrown) {
      throw startFailure(dialect, thrown, secrets, product)
    }
  }

  /** What this run cannot vouch for. */
  get notes(): readonly string[] {
    const { diagnostics, serverSessions } = this.#scene.facts
    if (!diagnostics) return ['The source has no diagnostics: nobody asked the server what a case left behind.']
    return serverSessions ? [] : ['Connections have no server session that could be listed: locks left behind were looked for, sessions were not.']
  }

  run(testCase: ConformanceCase): Promise<CaseResult> {
    return runCase(this.#scene, testCase, { allowKill: this.#options.allowKill === true })
  }

  /** Gives back what the run itself has: its connection and its table. Answers what could not be given back. */
  async close(): Promise<readonly string[]> {
    this.#observer.close()
    const { dialect, facts, tables, sharedSessions, namespace, secrets } = this.#scene
    if (!facts.lockTable || tables === undefined) return []
    try { await dropTables(dialect, tables, { signal: AbortSignal.timeout(15_000), leaseMs: quietLeaseMs, label: `sched:${namespace}:suite`, sharedSessions }) } catch (thrown) {
      return [`the table ${tables.locks} could not be dropped: ${describeFailure(thrown, secrets.redact).message}`]
    }
    return []
  }
}
