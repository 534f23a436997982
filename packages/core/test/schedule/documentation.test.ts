import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { gapWarnings } from '../../src/schedule/gap-warnings.ts'
import { compileSchedule } from '../../src/schedule/schedule.ts'
import { utcText, wallTime } from '../../src/schedule/wall-text.ts'
import { zoneOffsets } from '../../src/schedule/zone/zone-offsets.ts'

const page = new URL('../../../../docs/schedules.md', import.meta.url)
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const gapNights: readonly (readonly [timeZone: string, date: string, cron: string])[] = [
  ['America/New_York', '2027-03-14', '30 2 * * *'], ['Europe/Berlin', '2027-03-28', '30 2 * * *'], ['Europe/Berlin', '2027-03-28', '*/30 * * * *'], ['Europe/Dublin', '2027-03-28', '30 1 * * *'],
  ['Australia/Lord_Howe', '2026-10-04', '15 2 * * *'], ['Antarctica/Troll', '2027-03-28', '30 1,2 * * *'], ['Africa/Cairo', '2027-04-30', '0 0 * * *'], ['America/Havana', '2027-03-14', '30 0 * * *'],
  ['Asia/Beirut', '2027-03-28', '0 0 * * *'], ['Pacific/Chatham', '2027-09-26', '0 3 * * *'], ['America/St_Johns', '2027-03-14', '30 2 * * *'], ['Africa/Casablanca', '2026-03-22', '30 2 * * *'],
  ['America/Sao_Paulo', '2018-11-04', '0 0 * * *'], ['America/Asuncion', '2024-10-06', '0 0 * * *'], ['Asia/Kathmandu', '1986-01-01', '10 0 * * *'], ['Pacific/Apia', '2011-12-30', '0 12 * * *'],
]

const overlapNights: readonly (readonly [timeZone: string, date: string, cron: string])[] = [
  ['America/New_York', '2026-11-01', '30 1 * * *'], ['America/New_York', '2026-11-01', '*/30 * * * *'], ['Europe/Berlin', '2027-10-31', '30 2 * * *'], ['Europe/Berlin', '2027-10-31', '0 */2 * * *'],
  ['Europe/Dublin', '2027-10-31', '30 1 * * *'], ['Australia/Lord_Howe', '2027-04-04', '45 1 * * *'], ['Australia/Lord_Howe', '2027-04-04', '*/30 * * * *'], ['Antarctica/Troll', '2027-10-31', '30 1,2 * * *'],
  ['Africa/Cairo', '2026-10-29', '30 23 * * *'], ['America/Havana', '2026-11-01', '0 0 * * *'], ['Pacific/Chatham', '2027-04-04', '0 3 * * *'], ['America/St_Johns', '2026-11-01', '30 1 * * *'],
  ['Africa/Casablanca', '2026-02-15', '30 2 * * *'],
]

/** The first jump of a zone's clock in the three days about a date. */
function jumpAbout(timeZone: string, date: string): { at: number; from: number; to: number } {
  const zone = zoneOffsets(timeZone)
  for (let at = Date.parse(`${date}T00:00:00Z`) - dayMs; at < Date.parse(`${date}T00:00:00Z`) + 2 * dayMs; at += minuteMs) {
    const [before, after] = [zone.stretchAt(at - minuteMs), zone.stretchAt(at)]
    if (before.offsetMs !== after.offsetMs) return { at, from: at + before.offsetMs, to: at + after.offsetMs }
  }
  throw new Error(`no jump in ${timeZone} about ${date}`)
}

/** The fire times between two instants, as the wall clock has them and in UTC. */
function fired(cron: string, timeZone: string, dst: { gap?: 'skip' | 'run-after'; overlap?: 'auto' | 'once' | 'both' }, from: number, until: number): string {
  const schedule = compileSchedule({ cron, timeZone, dst })
  const times: number[] = []
  for (let at = schedule.next(from - 1); at !== null && at < until; at = schedule.next(at)) times.push(at)
  const offset = (at: number): number => zoneOffsets(timeZone).stretchAt(at).offsetMs
  return times.length === 0 ? 'does not fire' : times.map((at) => `${wallTime(at + offset(at))} (${utcText(at).slice(11, 16)}Z)`).join(', ')
}

function clockText({ from, to }: { from: number; to: number }): string {
  const ofDay = (wall: number): string => (Math.floor(from / dayMs) === Math.floor(to / dayMs) ? wallTime(wall) : `${utcText(wall).slice(5, 10)} ${wallTime(wall)}`)
  return `${ofDay(from)} → ${ofDay(to)}`
}

function gapTable(): string[] {
  const rows = gapNights.map(([timeZone, date, cron]) => {
    const jump = jumpAbout(timeZone, date)
    const lost = jump.to - jump.from
    // One gap's length on both sides, at most two hours, shows what surrounds it.
    const around = Math.min(lost, 120 * minuteMs)
    const [skip, runAfter] = (['skip', 'run-after'] as const).map((gap) => fired(cron, timeZone, { gap }, jump.at - around, jump.at + around))
    return `| ${timeZone} | ${date} | ${clockText(jump)} | \`${cron}\` | ${skip} | ${runAfter} |`
  })
  return ['| Zone | Date | The clock goes | Task | `gap: \'skip\'` (default) | `gap: \'run-after\'` |', '|---|---|---|---|---|---|', ...rows]
}

function overlapTable(): string[] {
  const rows = overlapNights.map(([timeZone, date, cron]) => {
    const jump = jumpAbout(timeZone, date)
    const repeated = jump.from - jump.to
    const [auto, once, both] = (['auto', 'once', 'both'] as const).map((overlap) => fired(cron, timeZone, { overlap }, jump.at - repeated, jump.at + repeated))
    return `| ${timeZone} | ${date} | ${clockText(jump)} | \`${cron}\` | ${auto} | ${once} | ${both} |`
  })
  return ['| Zone | Date | The clock goes | Task | `overlap: \'auto\'` (default) | `once` | `both` |', '|---|---|---|---|---|---|---|', ...rows]
}

// UPDATE_DOCS=1 writes what the code does into the page; without it the page must say so already.
test.each([['gaps', gapTable], ['overlaps', overlapTable]])('the table of %s in docs/schedules.md is what the code does', (name, table) => {
  const text = readFileSync(page, 'utf8')
  const [start, end] = [`<!-- table of ${name}: written by packages/core/test/schedule/documentation.test.ts -->\n`, `\n<!-- end of ${name} -->`]
  const [from, until] = [text.indexOf(start) + start.length, text.indexOf(end)]
  expect(from).toBeGreaterThan(start.length)
  expect(until).toBeGreaterThanOrEqual(from)
  const wanted = table().join('\n')
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(page, text.slice(0, from) + wanted + text.slice(until))
  else expect(text.slice(from, until)).toBe(wanted)
})

test('the warning quoted in docs/schedules.md is the one given', () => {
  const [warning] = gapWarnings(compileSchedule({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }), Date.parse('2026-11-30T00:00:00Z'))
  expect(readFileSync(page, 'utf8').replaceAll('\n', ' ')).toContain(warning?.message)
})
