/** An error as the server words it: `ORA-00942: …`. */
export class OracleErrorStandIn extends Error {
  readonly number: number

  constructor(number: number, text: string) {
    super(`ORA-${String(number).padStart(5, '0')}: ${text}`)
    this.number = number
  }
}

/** A block that does not compile. https://docs.oracle.com/en/error-help/db/ora-06550/ */
export function compilationError(reason: string): OracleErrorStandIn {
  return new OracleErrorStandIn(6550, `line 1, column 7:\n${reason}\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored`)
}

/** What an identifier that is not there, or may not be seen, is called. https://docs.oracle.com/en/error-help/db/pls-00201/ */
export function notDeclared(name: string): OracleErrorStandIn {
  return compilationError(`PLS-00201: identifier '${name}' must be declared`)
}

/** What the stand-in does not model is an error of its own, never a silent success. */
export class NotModelledError extends Error {
  constructor(what: string) { super(`the Oracle stand-in does not model ${what}`) }
}
