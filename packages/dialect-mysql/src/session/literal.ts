import type { SqlValue, Statement } from '@sched/core/spi'

/**
 * The text with its values in place of the `?` marks. The text protocol carries no values of its own, and prepared statements would
 * take up the server's max_prepared_stmt_count, once per text and session.
 */
export function bindStatement({ text, params }: Statement): string {
  let index = 0
  const bound = text.replaceAll('?', () => {
    const value = params[index++]
    if (value === undefined) throw new TypeError(`a statement has more marks than its ${params.length} values: ${text}`)
    return literal(value)
  })
  if (index !== params.length) throw new TypeError(`a statement has ${index} marks for ${params.length} values: ${text}`)
  return bound
}

/**
 * A literal that means the same under every sql_mode and character set of the session, of which those lent to user code may have
 * any: what a backslash is depends on NO_BACKSLASH_ESCAPES, and what a byte is on the connection's character set. So only harmless
 * ASCII is written as it is. Hexadecimal: https://dev.mysql.com/doc/refman/9.7/en/hexadecimal-literals.html,
 * introducer: https://dev.mysql.com/doc/refman/9.7/en/charset-introducer.html
 */
export function literal(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') {
    if (/^[\w .,:;(){}[\]<>=+*/|!?#$%&@~^-]*$/.test(value)) return `'${value}'`
    if (!value.isWellFormed()) throw new TypeError('a value is not well-formed Unicode')
    return `_utf8mb4 X'${Buffer.from(value, 'utf8').toString('hex')}'`
  }
  if (!Number.isFinite(value)) throw new TypeError(`the number ${value} cannot be a value`)
  return Number.isInteger(value) ? BigInt(value).toString() : String(value)
}
