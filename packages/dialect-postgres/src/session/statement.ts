import type { SqlValue, Statement } from '@sched/core/spi'

export interface BoundStatement { readonly text: string; readonly values: SqlValue[] }

/**
 * `?` marks as `$1`, `$2`, … Each carries the type of its value: an untyped parameter takes its type from its surroundings, and
 * becomes text in a select list and int4 beside an int4. https://www.postgresql.org/docs/current/typeconv.html
 */
export function bindStatement({ text, params }: Statement): BoundStatement {
  let index = 0
  const marked = text.replaceAll('?', () => {
    const value = params[index++]
    if (value === undefined) throw new TypeError(`a statement has more marks than its ${params.length} values: ${text}`)
    return `$${index}${castOf(value)}`
  })
  if (index !== params.length) throw new TypeError(`a statement has ${index} marks for ${params.length} values: ${text}`)
  return { text: marked, values: [...params] }
}

function castOf(value: SqlValue): string {
  if (value === null) return ''
  if (typeof value === 'string') return '::text'
  return Number.isInteger(value) ? '::bigint' : '::double precision'
}
