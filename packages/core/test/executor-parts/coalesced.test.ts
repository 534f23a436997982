import { expect, it } from 'vitest'
import { coalesced } from '../../src/executor/coalesced.ts'

it('runs one at a time, and once more for all who ask meanwhile, also when the run in hand fails', async () => {
  const begun: PromiseWithResolvers<void>[] = []
  const run = coalesced(() => {
    const one = Promise.withResolvers<void>()
    begun.push(one)
    return one.promise
  })
  const first = run().catch((error: unknown) => error)
  const others = [run(), run(), run()]
  expect(begun).toHaveLength(1)
  begun[0]?.reject(new Error('away'))
  expect(await first).toMatchObject({ message: 'away' })
  await new Promise(setImmediate)
  expect(begun).toHaveLength(2)
  begun[1]?.resolve()
  await Promise.all(others)
  void run()
  expect(begun).toHaveLength(3)
})
