import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../src/bin.ts', import.meta.url))

export interface CommandResult { readonly code: number | null; readonly out: string; readonly error: string }

/** The command as a process of its own, as people run it. */
export function runCommand(words: readonly string[], whenRunning?: (kill: (signal: NodeJS.Signals) => void) => void): Promise<CommandResult> {
  const child = spawn(process.execPath, [bin, ...words], { env: { ...process.env, NODE_OPTIONS: undefined, SCHED_SELFTEST_URL: undefined }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let error = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => { out += chunk })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => { error += chunk })
  whenRunning?.((signal) => { child.kill(signal) })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, error }))
  })
}
