import { expect, test } from 'vitest'
import { ZoneOffsets } from '../../src/schedule/zone/zone-offsets.ts'

const hourMs = 3_600_000
const zones = ['America/New_York', 'Europe/Dublin', 'Africa/Casablanca', 'Australia/Lord_Howe', 'Antarctica/Troll', 'Pacific/Apia', 'America/Sao_Paulo', 'Asia/Gaza', 'Pacific/Chatham', 'America/Caracas', 'Africa/Monrovia', 'Asia/Tehran']

test.each(zones)('%s: the offset at every sixth hour from 1970 to 2037 is what its wall clock says', { timeout: 60_000 }, (timeZone) => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' })
  const zone = new ZoneOffsets(timeZone)
  let jumps = 0
  for (let at = 0, before = NaN; at < Date.UTC(2037, 0, 1); at += 6 * hourMs) {
    const [month, day, year, hour, minute, second] = format.format(at).match(/\d+/g)!.map(Number) as [number, number, number, number, number, number]
    const offsetMs = Date.UTC(year, month - 1, day, hour, minute, second) - at
    const stretch = zone.stretchAt(at)
    if (stretch.offsetMs !== offsetMs || at < stretch.startAt || at >= stretch.endAt) expect(stretch, new Date(at).toISOString()).toEqual({ offsetMs })
    if (offsetMs !== before && !Number.isNaN(before)) {
      jumps++
      // The jump itself is found to the second: the second before it has the other offset. Between it and now there may be the border of a chunk.
      const preceding = zone.stretchAt(stretch.startAt - 1)
      const jumpAt = preceding.offsetMs === offsetMs ? preceding.startAt : stretch.startAt
      expect([zone.stretchAt(jumpAt - 1000).offsetMs, zone.stretchAt(jumpAt).offsetMs], new Date(at).toISOString()).toEqual([before, offsetMs])
    }
    before = offsetMs
  }
  expect(jumps).toBeGreaterThan(0)
})

test('stretches follow each other without a hole', () => {
  const zone = new ZoneOffsets('Africa/Casablanca')
  for (let stretch = zone.stretchAt(Date.UTC(1990, 0, 1)); stretch.endAt < Date.UTC(2040, 0, 1);) {
    const following = zone.stretchAt(stretch.endAt)
    expect(following.startAt).toBe(stretch.endAt)
    expect(zone.stretchAt(stretch.endAt - 1)).toEqual(stretch)
    stretch = following
  }
})
