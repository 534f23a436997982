import { describe, expect, it } from 'vitest'
import { lockName } from '@sched/core/spi'
import { describedResource, lockResource, visiblePart } from '../src/locks/lock-resource.ts'

describe('a lock\'s resource name', () => {
  it('is frozen: versions of a rolling deploy must exclude each other', () => {
    expect(lockResource(lockName('billing', 'user', 'order-close'))).toBe('7:billing:u:order-close')
    expect(lockResource(lockName('billing', 'task', 'daily-cleanup-of-the-carts'))).toMatchInlineSnapshot(`"7:billing:t:daily-c~1df49366c309:7:billing:t:daily-cleanup-of-the-carts"`)
    expect(lockResource(lockName('b', 'user', 'Ü'))).toMatchInlineSnapshot(`"1:b:u:_~eym7wzxfuvp~2619fb66e5a5:1:b:u:_~eym7wzxfuvp7q6x5xpcxvjtlglyxjqddxe3uqe43fbwibs2mugka"`)
  })

  it('has at most 255 characters, and the first 32 tell names apart that begin alike', () => {
    const names = [...Array(200).keys()].map((index) => lockName('n'.repeat(32), 'task', `${'x'.repeat(220)}${index}`))
    const resources = names.map(lockResource)
    expect(Math.max(...resources.map((resource) => resource.length))).toBeLessThanOrEqual(255)
    expect(new Set(resources).size).toBe(200)
    expect(new Set(resources.map(visiblePart)).size).toBe(200)
    for (const resource of resources) expect(resource.startsWith('32:nnnn')).toBe(true)
  })

  it.each([
    ['0:[orders]:(a1b2c3d4)', 'orders'], ['0:orders:a1b2c3d4', 'orders'], ['12:[a]b:c]:(00ff)', 'a]b:c'], ['0:[x]:(ABCDEF01)   ', 'x'], ['nothing', undefined],
  ])('is found in a resource_description: %s', (description, resource) => { expect(describedResource(description)).toBe(resource) })
})
