import type { LockCapabilities } from '@sched/core/spi'

/**
 * The server keeps user-level locks in memory that grows with them: 10,000 on one session took a quarter to half a millisecond each, and
 * no other session felt it (docs/databases.md). So the limit is one of good manners.
 */
export const capabilities: LockCapabilities = {
  kind: 'session',
  boundedStaleness: true, // wait_timeout, in whole seconds
  serverSideWait: true,
  fencing: 'none',
  inspection: true,
  scope: 'instance', // names are the server's, whatever database is in use
  maxLocks: 1_000,
  clockUncertaintyMs: 0,
}
