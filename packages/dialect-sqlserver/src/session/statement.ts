import type { SqlValue, Statement } from '@sched/core/spi'
import { markEnd } from './kept-spaces.ts'

export interface BoundValue {
  readonly name: string
  readonly type: 'BigInt' | 'Float' | 'NVarChar'
  readonly value: SqlValue
  readonly length?: number
}

export interface BoundStatement { readonly text: string; readonly values: readonly BoundValue[] }

/**
 * SET is undone when sp_executesql returns, so this holds for the one statement: counts are needed whatever the server's
 * `user options` or the user's code in ctx.transaction have set. https://learn.microsoft.com/sql/t-sql/statements/set-nocount-transact-sql
 */
const counted = 'SET NOCOUNT OFF; '

/** `?` marks as `@p1`, `@p2`, …: sp_executesql declares each with its type. https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-executesql-transact-sql */
export function bindStatement({ text, params }: Statement): BoundStatement {
  let index = 0
  const marked = text.replaceAll('?', () => {
    index += 1
    return `@p${index}`
  })
  if (index !== params.length) throw new TypeError(`a statement has ${index} marks for ${params.length} values: ${text}`)
  return { text: counted + marked, values: params.map((value, position) => bound(`p${position + 1}`, value)) }
}

/** The longest nvarchar that is not nvarchar(max). Named always: each length of its own would be a plan of its own in the server's cache. */
const longestText = 4_000

function bound(name: string, value: SqlValue): BoundValue {
  if (typeof value === 'number') return { name, type: Number.isInteger(value) ? 'BigInt' : 'Float', value }
  if (value === null) return { name, type: 'NVarChar', value, length: longestText } // NULL of any type becomes NULL of every other
  const text = markEnd(value)
  return text.length > longestText ? { name, type: 'NVarChar', value: text } : { name, type: 'NVarChar', value: text, length: longestText }
}
