import { lockTable } from '@sched/dialect-locktable'
import { defineConformance } from '@sched/selftest/vitest'
import { afterAll } from 'vitest'
import { dialectStandIn } from './stand-in/dialect-stand-in.ts'
import { OracleServerStandIn } from './stand-in/server-stand-in.ts'

const server = new OracleServerStandIn()
afterAll(() => { server.close() })

defineConformance('stand-in: the lock table at the surface of the driver', () => lockTable(dialectStandIn(server)), { url: 'oracle://app:stand-in-password@stand-in/service', allowKill: true })
