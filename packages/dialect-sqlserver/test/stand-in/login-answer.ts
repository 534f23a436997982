import type { TdsServerStandIn } from './tds-server-stand-in.ts'
import type { Login } from './wire-reader.ts'
import { doneFlags, doneToken, environment, errorToken, loginAck, type ServerMessage } from './wire-writer.ts'

/** 18456 for whoever is not known, 4060 and then 18456 for a database that is not there: https://learn.microsoft.com/sql/relational-databases/errors-events/mssqlserver-18456-database-engine-error */
export function answerLogin(login: Login, { options, faults }: TdsServerStandIn): { readonly accepted: boolean; readonly tokens: readonly Buffer[] } {
  const failed: ServerMessage = { number: 18456, severity: 14, message: `Login failed for user '${login.user}'.` }
  const refused = (...messages: ServerMessage[]): { accepted: boolean; tokens: readonly Buffer[] } => ({ accepted: false, tokens: [...messages.map(errorToken), doneToken(doneFlags.error)] })
  const fault = faults.login.shift()
  if (fault !== undefined) return refused(fault)
  if (faults.refusesUser === login.user) return refused({ number: 40613, severity: 17, message: `Database '${options.database}' is not currently available.` })
  if (options.accounts[login.user]?.password !== login.password) return refused(failed)
  if (login.database !== '' && login.database !== options.database) {
    return refused({ number: 4060, severity: 11, message: `Cannot open database "${login.database}" requested by the login. The login failed.` }, failed)
  }
  return { accepted: true, tokens: [environment.database(options.database), environment.collation(), loginAck(), doneToken(0)] }
}
