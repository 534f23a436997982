import { describe, expect, it } from 'vitest'
import { groups } from '../src/case.ts'
import { conformanceCases } from '../src/cases/index.ts'
import { mutants } from './mutants/index.ts'

const variants = conformanceCases.flatMap(({ id, opposite }) => (opposite === undefined ? [id] : [id, `${id}/opposite`]))

describe('the suite', () => {
  it('has ids that are unique and say their group', () => {
    const ids = conformanceCases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { id, group } of conformanceCases) expect(id).toMatch(new RegExp(`^${groups[group]}-\\d\\d$`))
  })

  it('has at least one case in every group', () => {
    expect(new Set(conformanceCases.map(({ group }) => group))).toEqual(new Set(Object.keys(groups)))
  })

  it('says each claim once, as a sentence of one line', () => {
    const titles = conformanceCases.flatMap(({ title, opposite }) => [title, ...(opposite === undefined ? [] : [opposite.title])])
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
    expect(titles.filter((title) => title.length > 110 || /[.\n]$/.test(title))).toEqual([])
  })

  it('has no case that no mutant can fail, opposites included', () => {
    const killed = new Set(mutants.flatMap(({ kills }) => kills))
    expect(variants.filter((variant) => !killed.has(variant))).toEqual([])
  })

  it('has no mutant without a case that catches it, and none that names what is no case', () => {
    expect(mutants.filter(({ kills }) => kills.length === 0).map(({ name }) => name)).toEqual([])
    expect(mutants.flatMap(({ kills }) => kills).filter((kill) => !variants.includes(kill))).toEqual([])
  })

  it('has mutants with names of their own, each broken in one place', () => {
    const names = mutants.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { name, dialect, createLocks } of mutants) expect([dialect, createLocks].filter((change) => change !== undefined), name).toHaveLength(1)
  })

  it('checks every capability from both sides', () => {
    const required = new Set(conformanceCases.flatMap(({ requires }) => requires?.name.split(' and ') ?? []))
    for (const capability of ['kind: lease', 'boundedStaleness', 'serverSideWait', 'fencing: row']) {
      expect([...required].some((name) => name.includes(capability)), capability).toBe(true)
      expect(conformanceCases.some(({ requires, opposite }) => opposite !== undefined && requires?.name.includes(capability)), `${capability}, absent`).toBe(true)
    }
  })
})
