import { defineConformance } from '@sched/selftest/vitest'
import { afterAll } from 'vitest'
import { oracle } from '../src/index.ts'
import { OracleServerStandIn } from './stand-in/server-stand-in.ts'
import { wireServerStandIn } from './stand-in/wire-server-stand-in.ts'

const wire = await wireServerStandIn(new OracleServerStandIn())
afterAll(() => wire.close())

defineConformance('stand-in: DBMS_LOCK at the wire, through the real oracledb', () => oracle({ url: wire.url }), { url: wire.url, allowKill: true })
