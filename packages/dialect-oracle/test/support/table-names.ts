import { tableNames } from '@sched/core/spi'
import { fragments } from '../../src/store/fragments.ts'

/** Every name of a table and an index of ours, behind the longest prefix. */
export function metaTables(): readonly string[] {
  const prefix = 'a234567_9_'
  const tables = Object.values<string>({ ...tableNames(fragments, { prefix }) }).map((name) => name.replaceAll('"', ''))
  return [...tables, ...['state', 'node', 'task'].map((index) => `${prefix}executions_${index}_ix`)]
}
