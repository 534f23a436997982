/** Matches the COMMIT that follows such a statement on the same connection: the heartbeat commits on another, perhaps in between. */
export function commitAfter(statement: RegExp): (bytes: Buffer, connection: object) => boolean {
  let seenOn: object | undefined
  return (bytes, connection) => {
    if (statement.test(bytes.toString('latin1'))) { seenOn = connection; return false }
    return connection === seenOn && bytes.includes('COMMIT')
  }
}

export const startStatement: RegExp = /state = 'running', node_id/
/** The successful end: a slot that is skipped has the time of its end written too. */
export const successStatement: RegExp = /SET state = (?!'skipped'|'missed'|CASE)\S+, finished_at = /
