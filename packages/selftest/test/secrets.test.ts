import { describe, expect, it } from 'vitest'
import { targetSecrets } from '../src/run/secrets.ts'

describe('secrets of a target', () => {
  it.each([
    ['postgres://app:pa%40ss@db/x', ['pa%40ss', 'pa@ss']],
    ['postgres://app@db/x?password=quiet%21', ['quiet%21', 'quiet!']],
    ['mysql://app:a@db/x?sslpassword=b', ['a', 'b']],
  ])('of %s are %j', (url, values) => {
    const secrets = targetSecrets(url)
    expect(secrets.values).toEqual(values)
    for (const value of values) if (value.length > 1) expect(secrets.shown).not.toContain(value)
    const text = secrets.redact(`could not open ${url} with ${values.map((value) => `"${value}"`).join(' or ')}`)
    for (const value of values) expect(text).not.toContain(`"${value}"`)
  })

  it('are none without a password', () => {
    expect(targetSecrets('sqlite:./x.db')).toMatchObject({ shown: 'sqlite:./x.db', values: [] })
    expect(targetSecrets(undefined)).toMatchObject({ shown: undefined, values: [] })
  })

  it('survive a percent sign that decodes to nothing', () => {
    expect(targetSecrets('postgres://app:100%@db/x').values).toEqual(['100%'])
  })
})
