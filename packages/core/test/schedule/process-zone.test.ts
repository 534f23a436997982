import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { digest } from './fire-time-digest.ts'

const run = promisify(execFile)

test.each(['America/New_York', 'Pacific/Apia', 'Asia/Kathmandu', 'Australia/Lord_Howe'])('a process whose own zone is %s gives the same fire times', { timeout: 60_000 }, async (zone) => {
  const script = fileURLToPath(new URL('fire-time-digest.ts', import.meta.url))
  const { stdout } = await run(process.execPath, [script], { env: { ...process.env, TZ: zone, LANG: 'de_DE.UTF-8' } })
  const answer = JSON.parse(stdout) as { zone: string; digest: string }
  expect(answer.zone).toBe(new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone)
  expect(answer.digest).toBe(digest())
})
