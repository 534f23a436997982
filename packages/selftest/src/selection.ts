import { groups, type ConformanceCase, type Group } from './case.ts'
import { conformanceCases } from './cases/index.ts'

/**
 * The cases that `--only` names: groups (`owner`), their prefixes (`OWN`) or ids (`OWN-03`), in the order of the suite.
 * Answers the words that name nothing beside them.
 */
export function selectCases(only: readonly string[], cases: readonly ConformanceCase[] = conformanceCases): { selected: readonly ConformanceCase[]; unknown: readonly string[] } {
  const words = only.map((word) => word.trim()).filter((word) => word !== '')
  const matching = (word: string): readonly ConformanceCase[] => cases.filter(({ id, group }) => id === word.toUpperCase() || isGroup(word, group))
  const chosen = new Set(words.flatMap((word) => matching(word).map(({ id }) => id)))
  return { selected: cases.filter(({ id }) => chosen.has(id)), unknown: words.filter((word) => matching(word).length === 0) }
}

function isGroup(word: string, group: Group): boolean {
  return word.toLowerCase() === group.toLowerCase() || word.toUpperCase() === groups[group]
}
