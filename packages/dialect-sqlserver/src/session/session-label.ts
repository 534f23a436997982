/** sys.dm_exec_sessions.program_name is nvarchar(128). https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql */
const longest = 128

/** A label as `program_name` keeps it: at most 128 characters, printable ASCII. */
export function programName(label: string): string {
  return label.replaceAll(/[^ -~]/gu, '?').slice(0, longest)
}

/**
 * The same as `context_info` of sys.dm_exec_sessions, in hexadecimal: sessions of a pool have told the server another program name
 * when they logged in. varbinary(128), padded with zeros. https://learn.microsoft.com/sql/t-sql/statements/set-context-info-transact-sql
 */
export function contextInfo(label: string): string {
  return Buffer.from(programName(label), 'latin1').toString('hex').padEnd(2 * longest, '0')
}
