/**
 * A label as `application_name` keeps it: at most 63 bytes (NAMEDATALEN - 1), printable ASCII; the server itself would put `?` in
 * place of anything else. https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-APPLICATION-NAME
 * A backslash is replaced too, so that the name may stand in a literal whatever standard_conforming_strings says.
 */
export function applicationName(label: string): string {
  return label.replaceAll(/[^ -~]|\\/gu, '?').slice(0, 63)
}
