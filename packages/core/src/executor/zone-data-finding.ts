import type { Finding } from '../spi/probe.ts'

/** Instances that compute with different time zone data do not claim each other's tasks in zones other than UTC (the hash of their definitions differs). */
export function zoneDataFinding(others: number, own: string): Finding {
  return {
    level: 'warn', code: 'SCHED_ZONE_DATA_DIFFERS',
    message: `${others} live ${others === 1 ? 'instance has' : 'instances have'} other time zone data than this one (${own}): tasks in zones other than UTC run on the instances of one version alone.`,
    remedy: 'Once a deployment is over, run the same version of Node everywhere; the column versions of sched_nodes tells who has which.',
  }
}
