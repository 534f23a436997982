/**
 * A label as CLIENT_IDENTIFIER of the session, shown in V$SESSION: at most 64 bytes
 * (https://docs.oracle.com/en/database/oracle/oracle-database/23/arpls/DBMS_SESSION.html, SET_IDENTIFIER), printable ASCII.
 */
export function clientIdentifier(label: string): string {
  return label.replaceAll(/[^ -~]/gu, '?').slice(0, 64)
}
