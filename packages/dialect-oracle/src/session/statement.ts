import type { SqlValue, Statement } from '@sched/core/spi'

export interface BoundStatement { readonly text: string; readonly binds: Readonly<Record<string, SqlValue>> }

/**
 * `?` marks as `:1`, `:2`, … https://node-oracledb.readthedocs.io/en/latest/user_guide/bind.html
 * Bound by name, so that a mark may stand twice in a block.
 */
export function bindStatement({ text, params }: Statement): BoundStatement {
  let index = 0
  const marked = text.replaceAll('?', () => {
    index += 1
    if (index > params.length) throw new TypeError(`a statement has more marks than its ${params.length} values: ${text}`)
    return `:${index}`
  })
  if (index !== params.length) throw new TypeError(`a statement has ${index} marks for ${params.length} values: ${text}`)
  return { text: marked, binds: Object.fromEntries(params.map((value, position) => [String(position + 1), value])) }
}
