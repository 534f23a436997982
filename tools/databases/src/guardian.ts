import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export type GuardianMessage =
  | { kind: 'guard', pid: number, endWith: NodeJS.Signals }
  | { kind: 'release', pid: number }
  | { kind: 'guard-folder', folder: string }
  | { kind: 'release-folder', folder: string }

let guardian: ChildProcessByStdio<Writable, null, null> | undefined

/** Tells this process's guardian what to end and remove should this process die before it does so itself. */
export function tellGuardian(message: GuardianMessage): void {
  guardian ??= startGuardian()
  guardian.stdin.write(`${JSON.stringify(message)}\n`)
}

function startGuardian(): ChildProcessByStdio<Writable, null, null> {
  const env = { ...process.env, NODE_OPTIONS: undefined }   // options of the test runner, not of the guardian
  // Detached: Ctrl-C reaches the whole foreground group, and the guardian has to survive it.
  const child = spawn(process.execPath, [fileURLToPath(new URL('./guardian-process.ts', import.meta.url))],
    { env, detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
  child.on('error', (error) => { throw new Error('the guardian of child processes could not be started', { cause: error }) })
  child.unref()
  const pipe = child.stdin as Socket
  pipe.unref()
  return child
}
