/**
 * SQL Server pads the shorter text with spaces when it compares with `=` and in unique keys, under every collation, BIN2 included:
 * 'a' and 'a ' are equal. https://learn.microsoft.com/sql/t-sql/language-elements/string-comparison-assignment
 * So no text that we send ends with a space: it is marked with a character that no name needs, and the mark is taken away when the
 * text comes back. One stored text for one text, since what ends with the mark itself is marked too.
 */
const mark = '\u001f' // unit separator

export function markEnd(text: string): string {
  return text.endsWith(' ') || text.endsWith(mark) ? text + mark : text
}

export function unmarkEnd(text: string): string {
  return text.endsWith(mark) ? text.slice(0, -mark.length) : text
}
