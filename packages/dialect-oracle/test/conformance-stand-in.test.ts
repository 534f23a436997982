import { defineConformance } from '@sched/selftest/vitest'
import { afterAll } from 'vitest'
import { dialectStandIn } from './stand-in/dialect-stand-in.ts'
import { OracleServerStandIn } from './stand-in/server-stand-in.ts'

const server = new OracleServerStandIn()
afterAll(() => { server.close() })

defineConformance('stand-in: DBMS_LOCK at the surface of the driver', () => dialectStandIn(server), { url: 'oracle://app:stand-in-password@stand-in/service', allowKill: true })
