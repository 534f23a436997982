import { lockTable } from '@sched/dialect-locktable'
import { defineConformance } from '@sched/selftest/vitest'
import { afterAll } from 'vitest'
import { oracle } from '../src/index.ts'
import { OracleServerStandIn } from './stand-in/server-stand-in.ts'
import { wireServerStandIn } from './stand-in/wire-server-stand-in.ts'

const wire = await wireServerStandIn(new OracleServerStandIn())
afterAll(() => wire.close())

defineConformance('stand-in: the lock table at the wire, through the real oracledb', () => lockTable(oracle({ url: wire.url })), { url: wire.url, allowKill: true })
