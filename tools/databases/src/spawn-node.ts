import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { tellGuardian } from './guardian.ts'
import { endWithTest } from './end-with-test.ts'
import { freezeTree, killTree, signal, thawTree } from './process-tree.ts'

/** One line of a child's output: the object it printed as JSON, or `{ text }` for anything else. */
export type ChildLine = Readonly<Record<string, unknown>>

export interface ChildExit { readonly code: number | null, readonly signal: NodeJS.Signals | null }

export interface SpawnNodeOptions {
  /** Added to this process's environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Options of node itself, before the script. */
  readonly execArgv?: readonly string[]
  readonly cwd?: string
}

/** A Node process under test that prints JSON lines. Killed at the end of the test, and when the test process dies. */
export interface NodeChild extends AsyncDisposable {
  readonly pid: number
  /** Everything it has printed so far. */
  readonly lines: readonly ChildLine[]
  readonly stderr: string
  readonly exited: Promise<ChildExit>
  /**
   * The first line that satisfies the predicate, printed already or still to come (`after`: only those after that line).
   * Rejects with what the child did say when the time is up or the child has ended.
   */
  line<Fields extends object = ChildLine>(predicate: (line: ChildLine & Fields) => boolean, timeoutMs: number, after?: ChildLine): Promise<ChildLine & Fields>
  /** Writes one JSON line to its stdin. */
  send(message: unknown): void
  /** Signals the process (default SIGKILL, which takes everything below it too) and waits for its end. */
  kill(signal?: NodeJS.Signals): Promise<ChildExit>
  freeze(): Promise<void>
  thaw(): void
}

export function spawnNode(script: string | URL, args: readonly string[] = [], options: SpawnNodeOptions = {}): NodeChild {
  const file = script instanceof URL ? fileURLToPath(script) : script
  // Options for the test runner's own Node processes are not the child's.
  const env = { ...process.env, NODE_OPTIONS: undefined, ...options.env }
  const child = spawn(process.execPath, [...(options.execArgv ?? []), file, ...args],
    { env, stdio: 'pipe', ...(options.cwd === undefined ? {} : { cwd: options.cwd }) })
  const spawned = child.pid
  if (spawned === undefined) throw new Error(`${file} could not be started as a Node process`)
  const pid: number = spawned
  tellGuardian({ kind: 'guard', pid, endWith: 'SIGKILL' })

  const lines: ChildLine[] = []
  let stderr = ''
  let exit: ChildExit | undefined
  const observers = new Set<() => void>()
  const notify = (): void => { for (const observe of [...observers]) observe() }
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => { stderr += chunk })
  createInterface({ input: child.stdout }).on('line', (text) => { lines.push(parseLine(text)); notify() })
  child.stdin.on('error', () => {})   // it may have ended: `exited` and `line` say so
  // 'close', not 'exit': by then its last lines have been read.
  const exited = new Promise<ChildExit>((resolve) => {
    child.on('close', (code, endedBy) => {
      exit = { code, signal: endedBy }
      tellGuardian({ kind: 'release', pid })
      resolve(exit)
      notify()
    })
  })

  const state = (): string => {
    const end = exit === undefined ? 'still runs' : `ended with ${exit.signal ?? String(exit.code)}`
    return `${file} ${end}\nits last lines: ${lines.slice(-10).map((line) => JSON.stringify(line)).join('\n') || 'none'}\nits stderr: ${stderr.slice(-4_000) || 'empty'}`
  }

  function line<Fields extends object>(predicate: (line: ChildLine & Fields) => boolean, timeoutMs: number, after?: ChildLine): Promise<ChildLine & Fields> {
    let next = after === undefined ? 0 : lines.indexOf(after) + 1
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => { clearTimeout(timer); observers.delete(look); finish() }
      const look = (): void => {
        for (; next < lines.length; next++) {
          const candidate = lines[next] as ChildLine & Fields
          let matches: boolean
          try { matches = predicate(candidate) } catch (error) { settle(() => { reject(new Error('the predicate threw', { cause: error })) }); return }
          if (matches) { settle(() => { resolve(candidate) }); return }
        }
        if (exit !== undefined) settle(() => { reject(new Error(`the line waited for did not come: ${state()}`)) })
      }
      const timer = setTimeout(() => { settle(() => { reject(new Error(`the line waited for did not come within ${timeoutMs} ms: ${state()}`)) }) }, timeoutMs)
      observers.add(look)
      look()
    })
  }

  async function kill(name: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    if (exit === undefined) {
      if (name === 'SIGKILL') killTree(pid); else signal(pid, name)
    }
    return await exited
  }

  const dispose = async (): Promise<void> => { await kill() }
  endWithTest(dispose)
  return {
    pid, lines, exited, line, kill,
    get stderr() { return stderr },
    send(message) { child.stdin.write(`${JSON.stringify(message)}\n`) },
    async freeze() { await freezeTree(pid) },
    thaw() { thawTree(pid) },
    [Symbol.asyncDispose]: dispose,
  }
}

function parseLine(text: string): ChildLine {
  if (text.startsWith('{')) {
    try {
      return JSON.parse(text) as ChildLine
    } catch {
      // Not JSON after all: kept as text.
    }
  }
  return { text }
}
