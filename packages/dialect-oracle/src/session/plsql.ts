import type { SqlValue } from '@sched/core/spi'

/** An anonymous block with named binds. A name that occurs twice in a block is one bind. */
export interface PlSqlBlock {
  readonly text: string
  readonly binds: Readonly<Record<string, SqlValue>>
  /** What the block assigns. Text of at most 256 bytes. */
  readonly out: Readonly<Record<string, 'number' | 'text'>>
}
