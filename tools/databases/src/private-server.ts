import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { tellGuardian } from './guardian.ts'
import { enterRoot } from './local-provisioning.ts'
import { freezeTree, killTree, signal, thawTree } from './process-tree.ts'

/** A server that belongs to one test: killing or freezing it hurts no other. The URL stays the same over restarts. */
export interface PrivateServer<StopMode extends string> extends AsyncDisposable {
  readonly available: true
  readonly url: string
  readonly port: number
  /** Its data and its log. */
  readonly folder: string
  start(): Promise<void>
  stop(mode?: StopMode): Promise<void>
  /** SIGSTOP to the server and all its children. */
  freeze(): Promise<void>
  thaw(): void
  /** Stops it and removes its data. Idempotent; also done when the test process dies. */
  dispose(): Promise<void>
}

/** What is particular to one server. */
export interface PrivateServerPlan<StopMode extends string> {
  /** In error messages. */
  readonly called: string
  readonly folder: string
  /** Where its programs are. */
  readonly root: string
  command(port: number): readonly string[]
  url(port: number): string
  /** Whether this log is one of a server that accepts connections. */
  isReady(log: string, port: number): boolean
  readonly readyWithinMs: number
  /** In the log of a start that may be tried again: what a killed server held needs a moment to become free. */
  readonly stillHeld: RegExp
  /** In the log of a start that failed because somebody else was quicker to take the port. */
  readonly portTaken: RegExp
  /** SIGKILL goes to every process at once, any other signal to the server alone. */
  readonly stopSignals: Readonly<Record<StopMode, NodeJS.Signals>>
  readonly defaultStop: StopMode
  /** How it is ended when nobody needs its data any more. */
  readonly finalStop: StopMode
}

/** Starts a server on a free port. When it does not start, its folder is removed. */
export async function startPrivateServer<StopMode extends string>(plan: PrivateServerPlan<StopMode>): Promise<PrivateServer<StopMode>> {
  for (let tries = 1; ; tries++) {
    const server = privateServer(plan, await freePort())
    try {
      await server.start()
      return server
    } catch (error) {
      if (tries < 3 && plan.portTaken.test((error as Error).message)) continue
      await server.dispose()
      throw error
    }
  }
}

function privateServer<StopMode extends string>(plan: PrivateServerPlan<StopMode>, port: number): PrivateServer<StopMode> {
  const { called, folder, stopSignals } = plan
  const logFile = join(folder, 'log')
  let running: { pid: number, ended: Promise<void> } | undefined

  async function start(): Promise<void> {
    if (running !== undefined) throw new Error(`this ${called} is running already`)
    for (let tries = 1; ; tries++) {
      const log = await startOnce()
      if (log === undefined) return
      if (tries < 20 && plan.stillHeld.test(log)) { await sleep(100); continue }
      throw new Error(`a private ${called} did not start:\n${log}`)
    }
  }

  /** Undefined when it accepts connections, else its log. */
  async function startOnce(): Promise<string | undefined> {
    const log = openSync(logFile, 'w')
    const child = spawn(enterRoot, [plan.root, folder, ...plan.command(port)], { detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    const ended = new Promise<void>((resolve, reject) => { child.on('error', reject).on('exit', () => { resolve() }) })
    const pid = child.pid
    if (pid === undefined) { await ended; throw new Error(`a private ${called} could not be spawned`) }
    tellGuardian({ kind: 'guard', pid, endWith: stopSignals[plan.finalStop] })
    running = { pid, ended }
    void ended.then(() => {
      tellGuardian({ kind: 'release', pid })
      if (running?.pid === pid) running = undefined
    })
    const deadline = performance.now() + plan.readyWithinMs
    while (performance.now() < deadline) {
      const text = readFileSync(logFile, 'utf8')
      if (plan.isReady(text, port)) return undefined
      if (child.exitCode !== null || child.signalCode !== null) return text
      await sleep(20)
    }
    killTree(pid)
    await ended
    return `not ready after ${plan.readyWithinMs / 1_000} s\n${readFileSync(logFile, 'utf8')}`
  }

  async function stop(mode: StopMode = plan.defaultStop): Promise<void> {
    if (running === undefined) return
    const { pid, ended } = running
    const how = stopSignals[mode]
    if (how === 'SIGKILL') {
      killTree(pid)
    } else {
      thawTree(pid)
      signal(pid, how)
    }
    await ended
  }

  const livePid = (): number => {
    if (running === undefined) throw new Error(`this ${called} is not running`)
    return running.pid
  }

  async function dispose(): Promise<void> {
    await stop(plan.finalStop)
    rmSync(folder, { recursive: true, force: true })
    tellGuardian({ kind: 'release-folder', folder })
  }

  return {
    available: true, port, folder, url: plan.url(port), start, stop, dispose,
    async freeze() { await freezeTree(livePid()) },
    thaw() { thawTree(livePid()) },
    [Symbol.asyncDispose]: dispose,
  }
}
