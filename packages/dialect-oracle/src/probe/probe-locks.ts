import type { Finding, LockProbe, OpenOptions } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { capabilitiesWith } from '../locks/capabilities.ts'
import { poolerRemedy } from '../locks/dbms-lock-connection.ts'
import { privilegeBlock } from '../locks/lock-blocks.ts'
import { packageNotGranted } from '../locks/lock-grant.ts'
import { viewGrants } from '../locks/lock-holder.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import { commonFindings } from './fact-findings.ts'
import { lookAt, product, scopeOf } from './look.ts'
import { orElse } from './or-else.ts'
import { readFacts } from './server-facts.ts'

/** Whether DBMS_LOCK is safe through this connection, and what this account may do with it. */
export async function probeLocks(connector: Connector, options: OpenOptions): Promise<LockProbe> {
  const { facts, granted, inspection } = await lookAt(connector, options, async (session) => ({
    facts: await readFacts(session), granted: await mayLock(session), inspection: await mayInspect(session),
  }))
  return {
    product, version: facts.version, scope: scopeOf(facts), sharedSessions: false, poolLimit: connector.limit,
    capabilities: capabilitiesWith({ inspection, cluster: facts.cluster }),
    findings: [
      ...commonFindings(facts, connector.limit),
      ...(connector.pooledServer ? [pooled] : []),
      ...(granted ? [] : [notGranted()]),
      ...(inspection ? [] : [notVisible]),
    ],
  }
}

function mayLock(session: PhysicalSession): Promise<boolean> {
  return orElse(['permission', 'unsupported'], async () => { await session.call(privilegeBlock); return true }, false)
}

function mayInspect(session: PhysicalSession): Promise<boolean> {
  return orElse(['permission', 'missing-table'], async () => {
    await session.run({ text: 'SELECT COUNT(*) AS seen FROM gv$lock l, gv$session s WHERE 1 = 0', params: [] }, true)
    return true
  }, false)
}

function notGranted(): Finding {
  const { remedy = '' } = packageNotGranted(undefined)
  return { level: 'refuse', code: 'SCHED_PERMISSION', message: 'this account may not execute the package DBMS_LOCK.', remedy }
}

const notVisible: Finding = {
  level: 'warn', code: 'SCHED_CAPABILITY_MISSING',
  message: 'this account may not see gv$lock and gv$session: locks work, but nobody can be told who holds one.', remedy: `As an administrator: ${viewGrants}.`,
}

const pooled: Finding = {
  level: 'refuse', code: 'SCHED_UNSAFE_POOLER',
  message: 'the connect string asks for a pooled server (DRCP): its session, and any lock left on it, goes to the next client.', remedy: poolerRemedy,
}
