import type { DaysOfMonth, DaysOfWeek } from './day-fields.ts'

const dayMs = 86_400_000

/** Days are counted from 1970-01-01. */
export function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / dayMs
}

/**
 * The days of one month that the two day fields choose, as bits: bit 0 is the 1st. Restricted on both sides means either may match, as in cron.
 */
export function matchingDays(daysOfMonth: DaysOfMonth, daysOfWeek: DaysOfWeek, year: number, month: number): number {
  const first = dayNumber(year, month, 1)
  const length = dayNumber(year, month + 1, 1) - first
  const all = 2 ** length - 1
  if (!daysOfMonth.restricted && !daysOfWeek.restricted) return all
  const firstWeekday = (((first + 4) % 7) + 7) % 7 // 1970-01-01 was a Thursday
  let bits = 0
  if (daysOfMonth.restricted) bits |= bitsOfMonth(daysOfMonth, length, firstWeekday)
  if (daysOfWeek.restricted) bits |= bitsOfWeek(daysOfWeek, length, firstWeekday)
  return bits & all
}

function bitsOfMonth(rule: DaysOfMonth, length: number, firstWeekday: number): number {
  let bits = 0
  for (const day of rule.days) bits |= bit(day)
  for (const k of rule.beforeLast) if (k < length) bits |= bit(length - k)
  for (const day of rule.nearWeekday) if (day <= length) bits |= bit(nearestWeekday(day, length, firstWeekday))
  if (rule.lastWeekday) bits |= bit(length - [2, 0, 0, 0, 0, 0, 1][weekdayOf(length, firstWeekday)]!)
  return bits
}

function bitsOfWeek(rule: DaysOfWeek, length: number, firstWeekday: number): number {
  let bits = 0
  for (const weekday of rule.days) for (let day = firstOf(weekday, firstWeekday); day <= length; day += 7) bits |= bit(day)
  for (const weekday of rule.last) bits |= bit(firstOf(weekday, firstWeekday) + 7 * Math.floor((length - firstOf(weekday, firstWeekday)) / 7))
  for (const { day, k } of rule.nth) {
    const nth = firstOf(day, firstWeekday) + 7 * (k - 1)
    if (nth <= length) bits |= bit(nth)
  }
  return bits
}

function bit(day: number): number {
  return 1 << (day - 1)
}

function weekdayOf(day: number, firstWeekday: number): number {
  return (firstWeekday + day - 1) % 7
}

function firstOf(weekday: number, firstWeekday: number): number {
  return 1 + ((weekday - firstWeekday + 7) % 7)
}

/** Saturday moves to Friday and Sunday to Monday, unless that leaves the month. */
function nearestWeekday(day: number, length: number, firstWeekday: number): number {
  const weekday = weekdayOf(day, firstWeekday)
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}
