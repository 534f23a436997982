import { describe, expect, it } from 'vitest'
import { lockName } from '@sched/core/spi'
import { lockKey } from '../src/locks/lock-key.ts'

describe('the number of a lock name', () => {
  // Frozen: two versions of the library must exclude each other during a rolling deploy. Made with sha256sum, not with this code.
  it.each([
    ['billing', 'user', 'daily-cleanup', { key: '3172783294485698240', classId: '738721176', objId: '2703038144' }],
    ['billing', 'task', 'daily-cleanup', { key: '-5799202154760116872', classId: '2944735325', objId: '2698503544' }],
    ['billing', 'user', 'Daily-Cleanup', { key: '-8363742084970642988', classId: '2347631843', objId: '5702100' }],
    ['billing', 'user', 'daily-cleanup ', { key: '-4241951169731537567', classId: '3307311074', objId: '3449378145' }],
    ['billing', 'user', '每日结算', { key: '6580235839859515573', classId: '1532080545', objId: '4246659253' }],
  ] as const)('is frozen, and differs by kind, case and trailing space: %s %s %j', (namespace, kind, name, expected) => {
    expect(lockKey(lockName(namespace, kind, name))).toEqual(expected)
  })
})
