import { expect, it } from 'vitest'
import { defaultNamespace } from '../../src/locks/default-namespace.ts'
import { checkNamespace } from '../../src/spi/lock-name.ts'

it.each([
  ['app/public', {}, 'app-public-38af25a5039f'],
  ['app/public', { prefix: 'sched_' }, 'app-public-38af25a5039f'],
  ['app/public', { prefix: 's2_' }, 'app-public-555f4def314e'],
  ['app/public', { schema: 'ops' }, 'app-public-819f57cf8cb1'],
  ['/home/me/Sched.DB', {}, 'home-me-sched-db-4a56932c587a'],
  ['日本/語', {}, 'b7711fac02bc'],
  ['x'.repeat(80), {}, 'xxxxxxxxxxxxxxxxxxx-4752cae01444'],
])('frozen: %s %o', (scope, tables, namespace) => {
  expect(defaultNamespace(scope, tables)).toBe(namespace)
  expect(checkNamespace(namespace)).toBe(namespace)
})

it('staging and production on one server do not block each other', () => {
  const scopes = ['app/public', 'app-public', 'app_staging/public', 'App/public', 'app/public ', 'app/pub/lic']
  expect(new Set(scopes.map((scope) => defaultNamespace(scope))).size).toBe(scopes.length)
})
