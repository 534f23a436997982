#!/usr/bin/env node
import { runCli } from './cli.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The second one ends the process at once, as anywhere.
  process.once(signal, () => interrupted.abort(new Error(`interrupted by ${signal}`)))
}

process.exitCode = await runCli(process.argv.slice(2), {
  out: (text) => { process.stdout.write(text) },
  error: (text) => { process.stderr.write(text) },
  interactive: process.stderr.isTTY && process.stdout.isTTY,
  environment: process.env,
  signal: interrupted.signal,
})
