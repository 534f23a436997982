import { describeServer } from '@sched-dev/databases'
import { describe } from 'vitest'
import { lockTable } from '../../src/index.ts'
import { inSteps } from './in-steps.ts'
import type { Place } from './on-place.ts'
import { postgresPlace } from './postgres-place.ts'
import { sqlitePlace } from './sqlite-place.ts'

const ways = [['one statement', lockTable], ['in steps', inSteps]] as const

function eachWay(base: Place, title: string, define: (place: Place) => void): void {
  for (const [way, wrap] of ways) {
    const place: Place = {
      ...base,
      async open() {
        const opened = await base.open()
        return { dialect: wrap(opened.dialect), end: () => opened.end() }
      },
    }
    describe(`${title}, ${base.title}, ${way}`, () => define(place))
  }
}

/** A suite on every database, with the acquire as one statement and in portable steps. */
export function describePlaces(title: string, define: (place: Place) => void): void {
  eachWay(sqlitePlace, title, define)
  describeServer(['postgres', 'postgres-oldest', 'pgbouncer-transaction'], (server) => eachWay(postgresPlace(server), title, define))
}
