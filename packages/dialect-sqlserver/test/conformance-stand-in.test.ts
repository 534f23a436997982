import { lockTable } from '@sched/dialect-locktable'
import { defineConformance } from '@sched/selftest/vitest'
import { afterAll, describe } from 'vitest'
import { sqlserver } from '../src/index.ts'
import { TdsServerStandIn } from './stand-in/tds-server-stand-in.ts'

const standIn = await TdsServerStandIn.start()
afterAll(() => standIn[Symbol.asyncDispose]())
const { url } = standIn

describe('SQL Server stand-in', () => {
  defineConformance('application locks on the TDS stand-in', () => sqlserver({ url }), { url, allowKill: true })
  defineConformance('the lock table on the TDS stand-in', () => lockTable(sqlserver({ url })), { url, allowKill: true })
})
