import { expect, test } from 'vitest'
import { DueLooks, type Waiting } from '../../src/executor/due-looks.ts'

const graceMs = 1000
const rows = (more: Partial<Waiting> = {}): Waiting => ({ dbNow: 100_000, nearestDueAt: 10_000, latestDueAt: 20_000, due: 2, ...more })

/** Heartbeats until the next look, when looks find nothing to start. */
function nextLook(looks: DueLooks, waiting: Waiting): number {
  for (let count = 1; ; count += 1) {
    if (!looks.due(waiting)) continue
    looks.begin()(false)
    return count
  }
}

test('P12: rows of which nothing can be started are looked for less and less, and never not at all', () => {
  const looks = new DueLooks(graceMs)
  expect(Array.from({ length: 8 }, () => nextLook(looks, rows()))).toEqual([1, 2, 3, 5, 9, 17, 17, 17])
  expect(looks.due(rows({ nearestDueAt: null, latestDueAt: null, due: 0 }))).toBe(false)
})

test.each<[string, Partial<Waiting>]>([['an earlier row', { nearestDueAt: 9_000 }], ['a later row', { latestDueAt: 21_000 }], ['a row in between', { due: 3 }]])('P6: %s is looked for at once', (_, more) => {
  const looks = new DueLooks(graceMs)
  for (let count = 0; count < 6; count += 1) nextLook(looks, rows())
  expect(looks.due(rows(more))).toBe(true)
})

test('P6: a look says nothing of rows that it may not have seen, nor of tasks that have changed since', () => {
  const looks = new DueLooks(graceMs)
  const fresh = rows({ latestDueAt: 99_500 })
  expect(Array.from({ length: 4 }, () => nextLook(looks, fresh))).toEqual([1, 1, 1, 1])
  const inFlight = looks.begin()
  expect(looks.due(rows())).toBe(true)
  inFlight(false)
  expect(looks.due(rows())).toBe(true)
  const before = looks.begin()
  looks.reset()
  before(false)
  expect(looks.due(rows())).toBe(true)
})

test('P6: as long as there is something to start here, every heartbeat looks', () => {
  const looks = new DueLooks(graceMs)
  for (let count = 0; count < 4; count += 1) {
    expect(looks.due(rows())).toBe(true)
    looks.begin()(true)
  }
})
