import type { Dialect } from '@sched/core/spi'
import { ownedConnector } from '../../src/connect/owned-connector.ts'
import { dialectOn } from '../../src/oracle.ts'
import { driverStandIn } from './driver-stand-in.ts'
import type { OracleServerStandIn } from './server-stand-in.ts'

/** The dialect on standalone connections of the driver's stand-in. */
export function dialectStandIn(server: OracleServerStandIn, config: { readonly connectString?: string; readonly password?: string } = {}): Dialect {
  const { user = 'app', password = 'stand-in-password' } = server.options
  return dialectOn(ownedConnector({ user, password, connectString: 'stand-in/service', ...config } as object, async () => driverStandIn(server)))
}
