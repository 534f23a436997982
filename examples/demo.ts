// Several instances of a service share a schedule on one database; one is killed, another frozen and woken. Then the count.
import { resolveDialect } from '@sched/core'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { InstanceConfig } from './demo/instance.ts'
import { readJournal, type JournalLine } from './demo/journal.ts'
import { forget, readJournals, readLedger, type Tally } from './demo/tally.ts'
import { describeLine } from './demo/timeline.ts'

const leaseMs = 2000
const heartbeatMs = 500
// The holder's own view of its lease: less the safety margin of core.
const goodForMs = leaseMs - 500
const workMs = 300
const leastSeconds = 12

interface DemoOptions { readonly url: string | undefined; readonly nodes: number; readonly seconds: number; readonly json: boolean }

class Instance {
  readonly node: number
  readonly child: ChildProcess
  readonly exited: Promise<number | null>

  constructor(config: InstanceConfig, onLine: (line: JournalLine) => void) {
    this.node = config.node
    this.child = spawn(process.execPath, [fileURLToPath(new URL('./demo/instance.ts', import.meta.url)), JSON.stringify(config)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.exited = new Promise((resolve) => this.child.on('exit', (code) => resolve(code)))
    // A killed child's pipe breaks under a message to it: it is gone, which is the point.
    this.child.stdin?.on('error', (error: NodeJS.ErrnoException) => { if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error })
    if (this.child.stdout !== null) createInterface({ input: this.child.stdout }).on('line', (line) => onLine(JSON.parse(line) as JournalLine))
  }

  get alive(): boolean { return this.child.exitCode === null && this.child.signalCode === null }
  signal(name: NodeJS.Signals): void { this.child.kill(name) }
}

class Demo {
  readonly #options: DemoOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'sched-demo-'))
  readonly #journal = join(this.#folder, 'journal.jsonl')
  readonly #namespace = `demo-${Date.now().toString(36)}`
  readonly #url: string
  readonly #instances: Instance[] = []
  readonly #watchers = new Set<(line: JournalLine) => void>()
  #startedAt = Date.now()

  constructor(options: DemoOptions) {
    this.#options = options
    this.#url = options.url ?? `sqlite:${join(this.#folder, 'demo.db')}`
    writeFileSync(this.#journal, '')
  }

  async run(): Promise<Tally> {
    const { nodes, seconds } = this.#options
    this.#say(`${nodes} instances, a task each second, ${seconds} seconds, lease ${leaseMs} ms, on ${this.#options.url === undefined ? 'a SQLite file' : 'the given database'}`)
    const up = Array.from({ length: nodes }, (_, index) => this.#launch(index + 1))
    await Promise.all(up)
    const from = Date.now()
    this.#startedAt = from
    const pids = this.#instances.map(({ child }) => child.pid)
    for (const { child } of this.#instances) child.stdin?.write(`${JSON.stringify(pids.filter((pid) => pid !== child.pid))}\n`)

    await sleep(seconds * 500)
    const killed = await this.#whileItRuns('SIGKILL', 'is killed (SIGKILL) while it runs')
    await sleep(Math.max(leaseMs + 2 * heartbeatMs, seconds * 150))
    const frozen = await this.#whileItRuns('SIGSTOP', 'is frozen (SIGSTOP) while it runs')
    await sleep(leaseMs + 2 * heartbeatMs)
    frozen.instance.signal('SIGCONT')
    this.#note(frozen.instance.node, 'is woken (SIGCONT), its lease long over')

    await sleep(Math.max(2000, from + seconds * 1000 - Date.now()))
    // Up to a slot that an instance has told of, so that nobody can argue whether it was due. Its run may still end.
    const to = Math.ceil(Date.now() / 1000) * 1000
    await this.#waitFor((line) => (line.kind === 'start' || line.kind === 'skipped') && line.fireTime >= to, 15_000, 'no instance ran the task for 15 s')
    await sleep(2 * workMs)
    for (const instance of this.#instances) instance.signal('SIGTERM')
    await Promise.all(this.#instances.map(({ exited }) => exited))
    return { ...await this.#readLedger(from, to), ...readJournals(readJournal(this.#journal), { node: killed.instance.node, at: killed.at }, goodForMs) } as Tally
  }

  /** Nothing of the demo stays: processes, files. */
  end(): void {
    for (const instance of this.#instances) if (instance.alive) instance.signal('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #launch(node: number): Promise<void> {
    const up = this.#waitFor((line) => line.kind === 'started' && line.node === node, 30_000, `instance ${node} did not start`)
    const config: InstanceConfig = { url: this.#url, node, namespace: this.#namespace, journal: this.#journal, leaseMs, heartbeatMs, workMs }
    const instance = new Instance(config, (line) => this.#onLine(line))
    this.#instances.push(instance)
    await Promise.race([up, instance.exited.then((code) => { throw new Error(`instance ${node} ended with code ${code} before it was up`) })])
  }

  /** Waits for the next start and sends the signal to the instance that runs it. */
  async #whileItRuns(signal: NodeJS.Signals, text: string): Promise<{ instance: Instance; at: number }> {
    const start = await this.#waitFor((line) => line.kind === 'start', 15_000, 'no instance ran the task for 15 s')
    const instance = this.#instances.find(({ node }) => node === start.node) as Instance
    instance.signal(signal)
    const at = Date.now()
    this.#note(instance.node, text)
    return { instance, at }
  }

  async #readLedger(from: number, to: number): Promise<Partial<Tally>> {
    const dialect = await resolveDialect(this.#url)
    const session = await dialect.store?.open('store', { signal: AbortSignal.timeout(10_000), leaseMs, label: 'sched:demo', statementMs: 10_000, rowLockMs: 1000, sharedSessions: false })
    if (session === undefined) throw new Error('the database of the URL keeps no ledger')
    try {
      const tally = await readLedger(session, this.#namespace, from, to)
      await forget(session, this.#namespace)
      return tally
    } finally {
      session.destroy()
      await dialect.close()
    }
  }

  #waitFor(wanted: (line: JournalLine) => boolean, limitMs: number, otherwise: string): Promise<JournalLine> {
    return new Promise((resolve, reject) => {
      const watcher = (line: JournalLine): void => {
        if (!wanted(line)) return
        clearTimeout(timer)
        this.#watchers.delete(watcher)
        resolve(line)
      }
      const timer = setTimeout(() => { this.#watchers.delete(watcher); reject(new Error(otherwise)) }, limitMs)
      this.#watchers.add(watcher)
    })
  }

  #onLine(line: JournalLine): void {
    const text = describeLine(line, this.#startedAt)
    if (text !== null) this.#say(text)
    for (const watcher of [...this.#watchers]) watcher(line)
  }

  #note(node: number, text: string): void {
    this.#say(`${((Date.now() - this.#startedAt) / 1000).toFixed(2).padStart(6)} s  instance ${node}  ** ${text} **`)
  }

  /** With --json the last line of stdout is the tally and nothing else is there. */
  #say(text: string): void { (this.#options.json ? process.stderr : process.stdout).write(`${text}\n`) }
}

function options(): DemoOptions {
  const { values } = parseArgs({ options: { url: { type: 'string' }, nodes: { type: 'string', default: '3' }, seconds: { type: 'string', default: '20' }, json: { type: 'boolean', default: false } } })
  const nodes = Number(values.nodes)
  const seconds = Number(values.seconds)
  if (!Number.isInteger(nodes) || nodes < 3) throw new RangeError(`--nodes is ${values.nodes}: expected 3 or more, since one is killed and one frozen.`)
  if (!(seconds >= leastSeconds)) throw new RangeError(`--seconds is ${values.seconds}: expected ${leastSeconds} or more, so that both takeovers fit.`)
  return { url: values.url, nodes, seconds, json: values.json }
}

function print(tally: Tally): void {
  console.log(`
due ${tally.due} fire times: ${tally.fired} ran, ${tally.skipped} skipped with a reason (the previous run's lease was still valid), ${tally.missed} missed
duplicates ${tally.duplicates}, overlaps ${tally.overlaps}, late writes fenced ${tally.fenced}
takeover of the killed instance's work after ${tally.takeoverMs} ms (lease ${leaseMs} + heartbeat ${heartbeatMs} ms)`)
}

let demo: Demo | undefined
const leave = (code: number): never => { demo?.end(); process.exit(code) }
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => leave(130))
// npm hands no signal on: when whoever started us is gone, so are we.
const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) leave(1) }, 500).unref()

try {
  const chosen = options()
  demo = new Demo(chosen)
  const tally = await demo.run()
  if (chosen.json) console.log(JSON.stringify(tally))
  else print(tally)
  leave(tally.duplicates + tally.missed + tally.overlaps === 0 && tally.fired === tally.expected ? 0 : 1)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  leave(error instanceof RangeError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') === true ? 64 : 1)
}
