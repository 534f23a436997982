import type { Schedule } from './schedule.ts'
import { utcText, zonedText } from './wall-text.ts'
import { zoneOffsets } from './zone/zone-offsets.ts'

/**
 * The next fire times of a task after `fromMs`, for the boot log: one line for the task and one for each fire time, in its zone and in UTC.
 *
 * @param count - how many fire times, fewer when the schedule ends
 */
export function describeNext(schedule: Schedule, taskName: string, fromMs: number, count = 3): string {
  const zone = zoneOffsets(schedule.timeZone)
  const lines: string[] = []
  for (let at = schedule.next(fromMs); at !== null && lines.length < count; at = schedule.next(at)) {
    const local = schedule.timeZone === 'UTC' ? '' : `${zonedText(at, zone.stretchAt(at).offsetMs)} ${schedule.timeZone} = `
    lines.push(`  ${local}${utcText(at)}`)
  }
  return [`${taskName}: ${schedule.describe}, ${lines.length === 0 ? 'does not fire any more' : 'next'}`, ...lines].join('\n')
}
