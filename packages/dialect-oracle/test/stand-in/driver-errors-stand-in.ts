import { OracleErrorStandIn } from './oracle-error-stand-in.ts'

// oracledb 26.0.0, lib/errors.js: what ends a session arrives as NJS-500 with the server's text behind the driver's.
const endsTheSession = new Set([22, 28, 31, 45, 378, 600, 602, 603, 609, 1012, 1041, 1043, 1089, 1092, 2396, 3113, 3114, 3122, 3135, 12153, 12537, 12547, 12570, 12583, 27146, 28511, 56600])

export function driverError(code: string, text: string): Error { return Object.assign(new Error(`${code}: ${text}`), { code }) }

/** The server's error as the driver throws it. */
export function rewritten(error: unknown): unknown {
  if (!(error instanceof OracleErrorStandIn)) return error
  const help = `\nHelp: https://docs.oracle.com/error-help/db/ora-${String(error.number).padStart(5, '0')}/`
  if (endsTheSession.has(error.number)) {
    return Object.assign(driverError('NJS-500', `connection to Oracle Database was closed or broken\n${error.message}${help}`), { errorNum: error.number })
  }
  return Object.assign(new Error(error.message + help), { code: error.message.slice(0, 9), errorNum: error.number })
}
