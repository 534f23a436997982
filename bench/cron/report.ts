/** Prints, as markdown, what four libraries answer about the nights on which clocks jump, and how fast. Run with `node report.ts`. */
import { croner, cronParser, engines, ours, type Engine } from './engines.ts'
import { nights, type Night } from './nights.ts'

/** More than any night here has. */
const asked = 12
const hourMs = 3_600_000

function answer(engine: Engine, { cron, timeZone, after, until }: Night): string {
  let times: number[]
  try {
    times = engine.fireTimes(cron, timeZone, Date.parse(after), asked)
  } catch (error) {
    return `throws: ${String((error as Error).message).slice(0, 40)}`
  }
  const backwards = times.some((time, i) => time <= (times[i - 1] ?? Date.parse(after)))
  const texts = times.filter((time) => time < Date.parse(until)).map((time) => new Date(time).toISOString().slice(11, 16))
  return `${texts.length === 0 ? 'none' : texts.join(' ')}${backwards ? ' (runs backwards)' : ''}`
}

function nightTable(): string[] {
  const rows = nights.map((night) => {
    const [mine, ...others] = engines.map((engine) => answer(engine, night))
    const cells = [mine, ...others.map((text) => (text === mine ? '=' : text))]
    return `| ${night.title}: \`${night.cron}\` ${night.timeZone} ${night.after.slice(0, 10)} | ${cells.join(' | ')} | ${night.why} |`
  })
  return [`| Night | ${engines.map(({ name }) => name).join(' | ')} | Why ours |`, `|---|${engines.map(() => '---|').join('')}---|`, ...rows]
}

const speeds: readonly (readonly [cron: string, count: number])[] = [
  ['*/15 * * * *', 20_000], ['* * * * * *', 20_000], ['0 9 * * MON-FRI', 2000], ['30 2 * * *', 2000], ['0 0 31 12 5#5', 100], ['0 0 29 2 *', 50], ['0 0 * 2 1#5', 5],
]

/** Fire times a second, the best of three walks. Ours keeps the zone's offsets that an earlier walk has asked for, as it does in a scheduler. */
function speed(engine: Engine, cron: string, count: number): string {
  let best = 0
  for (let round = 0; round < 3; round++) {
    const after = Date.UTC(2026 + 10 * round, 0, 1)
    const started = performance.now()
    const found = engine.fireTimes(cron, 'America/New_York', after, count).length
    best = Math.max(best, (found / (performance.now() - started)) * 1000)
  }
  return Math.round(best).toLocaleString('en-US')
}

function speedTable(): string[] {
  const rows = speeds.map(([cron, count]) => `| \`${cron}\` | ${[ours, croner, cronParser].map((engine) => speed(engine, cron, count)).join(' | ')} |`)
  return ['| next() a second, America/New_York | @sched/core | croner | cron-parser |', '|---|---|---|---|', ...rows]
}

const single: readonly (readonly [title: string, cron: string])[] = [
  ['year 2150', '* * * * * ? 2150'], ['last second of 2199', '59 59 23 31 12 ? 2199'], ['fifth Monday of February', '0 0 * 2 1#5'], ['31 February', '0 0 31 2 *'], ['no leap day in these years', '0 0 0 29 2 ? 2101-2103'],
  ['40 kB, bad at the beginning', `1-1${'-1'.repeat(20_000)} * * * *`], ['40 kB, bad at the end', `${'1,'.repeat(20_000)}x * * * *`], ['40 kB of fields', '* '.repeat(20_000)],
]

function singleTable(): string[] {
  const after = Date.UTC(2026, 10, 30)
  const rows = single.map(([title, cron]) => {
    const started = performance.now()
    let outcome: string
    try {
      outcome = ours.fireTimes(cron, 'Europe/Berlin', after, 1).map((time) => new Date(time).toISOString()).join()
    } catch (error) {
      outcome = String((error as { code?: unknown }).code)
    }
    return `| ${title} | ${outcome} | ${(performance.now() - started).toFixed(2)} |`
  })
  return ['| One question to @sched/core | Answer | ms |', '|---|---|---|', ...rows]
}

ours.fireTimes('0 0 1 1 *', 'Europe/Berlin', 24 * hourMs, 1) // the zone's table and the modules are loaded before anything is timed
console.log([...nightTable(), '', ...speedTable(), '', ...singleTable()].join('\n'))
