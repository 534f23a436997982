import { CronExpressionParser } from 'cron-parser'
import { expect, test } from 'vitest'
import { parseCron } from '../../src/schedule/cron/cron-expression.ts'
import { parserText } from '../../src/schedule/cron/day-calendar.ts'
import { dayNumber, matchingDays } from '../../src/schedule/cron/month-days.ts'
import { randomDays } from './random-expression.ts'
import { SeededRandom } from './seeded-random.ts'

const dayMs = 86_400_000

function fieldsOf(expression: string): Exclude<ReturnType<typeof parseCron>, { kind: 'interval' }> {
  const parsed = parseCron(expression)
  if (parsed.kind === 'interval') throw new Error(`${expression} has no fields`)
  return parsed
}

test.each([
  ['0 0 1,15 * MON-FRI', '0 0 0 1,15 * 1,2,3,4,5'],
  ['0 0 1-31 * 1', '0 0 0 * * *'], // restricted by its text, so either may match: all days do
  ['0 0 */1 * *', '0 0 0 * * *'],
  ['0 0 L 2 ?', '0 0 0 L 2 *'],
  ['0 0 L,15 * 1#2', '0 0 0 15,L * 1#2'],
  ['0 0 * * 7L', '0 0 0 * * 0L'],
  ['0 0 LW * *', undefined],
  ['0 0 L-1 * *', undefined],
  ['0 0 15W * *', undefined],
  ['0 0 * * 1#1,1#3', undefined],
  ['0 0 * * 1,3L', undefined],
])('%s is %s for cron-parser', (expression, text) => {
  expect(parserText(fieldsOf(expression))).toBe(text)
})

test('cron-parser in UTC and the arithmetic agree on every month that cron-parser is asked about', { timeout: 60_000 }, () => {
  const random = new SeededRandom(3)
  let months = 0
  while (months < 1500) {
    const { fields: [dom, month, dow] } = randomDays(random, { year: 2026, month: 2, day: random.between(26, 31), hour: 0 }, false)
    const fields = fieldsOf(`0 0 ${dom} ${month} ${dow}`)
    const text = parserText(fields)
    if (text === undefined) continue
    for (let k = 0; k < 6; k++, months++) {
      const [year, inYear] = [random.between(1970, 2199), random.pick(fields.months)]
      const bits = matchingDays(fields.daysOfMonth, fields.daysOfWeek, year, inYear)
      if (bits === 0) continue
      const first = dayNumber(year, inYear, 1)
      const wanted = Array.from({ length: 31 }, (_, i) => i).filter((i) => (bits & (1 << i)) !== 0).map((i) => first + i)
      const parser = CronExpressionParser.parse(text, { tz: 'UTC', currentDate: new Date((first - 0.5) * dayMs) })
      expect(wanted.map(() => parser.next().getTime() / dayMs), `${text} in ${year}-${inYear}`).toEqual(wanted)
    }
  }
})
