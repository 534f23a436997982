import type { PlSqlBlock } from './plsql.ts'
import { clientIdentifier } from './client-identifier.ts'

// https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/ALTER-SESSION.html: none of these needs a privilege.
const settings = (rowLockMs: number): readonly string[] => [
  // Keys compare byte by byte, whatever the client's or the database's language is (SQL Language Reference, "Text Comparison").
  'ALTER SESSION SET NLS_COMP = BINARY NLS_SORT = BINARY',
  // Under SERIALIZABLE a losing statement is an error (ORA-08177).
  'ALTER SESSION SET ISOLATION_LEVEL = READ COMMITTED',
  // CREATE INDEX beside a writer waits this many seconds instead of failing at once (ORA-00054). Row locks know no such setting.
  `ALTER SESSION SET DDL_LOCK_TIMEOUT = ${Math.max(1, Math.ceil(rowLockMs / 1_000))}`,
]

// A row that was acknowledged must survive a crash (P1), whatever COMMIT_WAIT says for the instance.
// https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/COMMIT_WAIT.html
const durableCommit = 'ALTER SESSION SET COMMIT_LOGGING = IMMEDIATE COMMIT_WAIT = WAIT'

/** The session, as the server knows it: SYS_CONTEXT, https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/SYS_CONTEXT.html */
export const sessionMark = "SYS_CONTEXT('USERENV', 'SID') || '.' || SYS_CONTEXT('USERENV', 'SESSIONID')"

const introduce = `  SYS.DBMS_SESSION.SET_IDENTIFIER(:label);
  :session_id := SYS_CONTEXT('USERENV', 'SID') || '@' || SYS_CONTEXT('USERENV', 'INSTANCE');
  :session_mark := ${sessionMark};`

const answers = { session_id: 'text', session_mark: 'text' } as const

/** For sessions of ours alone: everything in one round trip. */
export function ledgerSettings(label: string, rowLockMs: number): PlSqlBlock {
  return {
    // Autonomous Database allows only some parameters of ALTER SESSION and answers ORA-01031 for the rest; its commits are durable.
    text: `DECLARE
  refused EXCEPTION;
  PRAGMA EXCEPTION_INIT(refused, -1031);
BEGIN
${settings(rowLockMs).map((setting) => `  EXECUTE IMMEDIATE '${setting}';`).join('\n')}
  BEGIN
    EXECUTE IMMEDIATE '${durableCommit}';
  EXCEPTION WHEN refused THEN NULL;
  END;
${introduce}
END;`,
    binds: { label: clientIdentifier(label) },
    out: answers,
  }
}

/** For sessions lent to user code: isolation, language and limits are the user's. */
export function lentSettings(label: string): PlSqlBlock {
  return { text: `BEGIN\n${introduce}\nEND;`, binds: { label: clientIdentifier(label) }, out: answers }
}
