/** A question about a night on which the clock jumps: the fire times later than `after` and earlier than `until`. */
export interface Night {
  readonly title: string
  readonly cron: string
  readonly timeZone: string
  readonly after: string
  readonly until: string
  /** Why our answer is what it is. */
  readonly why: string
}

const named = 'the task names hours: its run has an identity, and comes once'
const gone = 'the time does not exist that date; `run-after` would run it once the clock has jumped'
const real = 'all 24 hours: it follows real time through both passes'

export const nights: readonly Night[] = [
  { title: 'gap', cron: '30 2 * * *', timeZone: 'America/New_York', after: '2026-03-08T00:00Z', until: '2026-03-09T00:00Z', why: gone },
  { title: 'overlap', cron: '30 1 * * *', timeZone: 'America/New_York', after: '2026-11-01T00:00Z', until: '2026-11-02T00:00Z', why: named },
  { title: 'asked inside the second pass', cron: '30 1 * * *', timeZone: 'America/New_York', after: '2026-11-01T06:05Z', until: '2026-11-02T00:00Z', why: 'it has run at 05:30Z: a restart must not run it again' },
  { title: 'overlap, every 15 minutes', cron: '*/15 * * * *', timeZone: 'America/New_York', after: '2026-11-01T05:30Z', until: '2026-11-01T07:00Z', why: real },
  { title: 'overlap, hourly', cron: '0 * * * *', timeZone: 'Europe/Berlin', after: '2026-10-24T23:30Z', until: '2026-10-25T02:30Z', why: real },
  { title: 'overlap, every second hour', cron: '0 */2 * * *', timeZone: 'Europe/Berlin', after: '2026-10-24T23:30Z', until: '2026-10-25T03:30Z', why: named },
  { title: 'midnight gap', cron: '0 0 * * *', timeZone: 'Africa/Cairo', after: '2026-04-23T00:00Z', until: '2026-04-24T12:00Z', why: gone },
  { title: 'midnight overlap', cron: '0 0 * * *', timeZone: 'America/Havana', after: '2026-10-31T13:15Z', until: '2026-11-01T12:00Z', why: named },
  { title: 'overlap before midnight', cron: '30 23 * * *', timeZone: 'Africa/Cairo', after: '2026-10-29T12:00Z', until: '2026-10-30T12:00Z', why: named },
  { title: '30-minute overlap', cron: '*/10 * * * *', timeZone: 'Australia/Lord_Howe', after: '2026-04-04T14:40Z', until: '2026-04-04T15:40Z', why: real },
  { title: '30-minute gap', cron: '*/10 * * * *', timeZone: 'Australia/Lord_Howe', after: '2026-10-03T15:15Z', until: '2026-10-03T16:00Z', why: real },
  { title: 'the day after it', cron: '0 9 * * *', timeZone: 'Australia/Lord_Howe', after: '2026-04-03T22:00Z', until: '2026-04-05T00:00Z', why: 'an ordinary daily run' },
  { title: '45-minute zone, overlap', cron: '*/15 * * * *', timeZone: 'Pacific/Chatham', after: '2026-04-04T12:40Z', until: '2026-04-04T14:10Z', why: real },
  { title: '2-hour overlap', cron: '30 1,2 * * *', timeZone: 'Antarctica/Troll', after: '2026-10-24T12:20Z', until: '2026-10-25T12:00Z', why: named },
  { title: '2-hour gap', cron: '30 1 * * *', timeZone: 'Antarctica/Troll', after: '2026-03-28T12:00Z', until: '2026-03-29T12:00Z', why: gone },
  { title: '15-minute gap', cron: '*/5 * * * *', timeZone: 'Asia/Kathmandu', after: '1985-12-31T18:20Z', until: '1985-12-31T18:50Z', why: real },
  { title: 'missing Friday', cron: '0 12 * * 5', timeZone: 'Pacific/Apia', after: '2011-12-28T00:00Z', until: '2012-01-01T12:00Z', why: gone },
]
