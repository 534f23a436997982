import { createHash } from 'node:crypto'
import { isSchedError } from '../../src/errors.ts'
import { fireTimes, previousFireTime } from '../../src/schedule/fire-times.ts'
import { clockJumps } from './clock-jumps.ts'
import { randomExpression } from './random-expression.ts'
import { SeededRandom } from './seeded-random.ts'

/** A hash over many answers. Run as a program it prints its own, and the process's zone. */
export function digest(): string {
  const random = new SeededRandom(99)
  const hash = createHash('sha256')
  for (const [timeZone, date, hour] of clockJumps) {
    const [year, month, day] = date.split('-').map(Number) as [number, number, number]
    for (let i = 0; i < 4; i++) {
      const { text } = randomExpression(random, { year, month, day, hour })
      const at = new Date(Date.parse(`${date}T00:00:00Z`) - 86_400_000)
      try {
        const times = fireTimes(text, { timeZone, after: at, count: 20, dst: { gap: 'run-after' } })
        hash.update(`${text} ${times.map(Number).join()} ${String(previousFireTime(text, { timeZone, at })?.getTime())}\n`)
      } catch (error) {
        if (!isSchedError(error, 'SCHED_CRON_NEVER')) throw error
        hash.update(`${text} never\n`)
      }
    }
  }
  return hash.digest('hex')
}

if (import.meta.main) process.stdout.write(JSON.stringify({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, digest: digest() }))
