import { describe, expect, it } from 'vitest'
import { TurnQueue, type TurnLimits, type Urgency } from '../../src/locks/turn-queue.ts'
import { manualClock, settle } from '../manual-clock.ts'

function scene(): { ask: (label: string, urgency: Urgency, extra?: Partial<TurnLimits>) => Promise<string>; log: string[]; finish: () => Promise<void>; clock: ReturnType<typeof manualClock> } {
  const clock = manualClock()
  const queue = new TurnQueue()
  const log: string[] = []
  const gates: (() => void)[] = []
  return {
    clock, log,
    ask: (label, urgency, extra = {}) => queue.run(async () => {
      log.push(label)
      await new Promise<void>((resolve) => { gates.push(resolve) })
      return label
    }, { clock, urgency, deadlineMs: 1000, onDeadline: () => new Error('late'), ...extra }).catch((error: unknown) => (error as Error).message),
    async finish() { gates.shift()?.(); await settle() },
  }
}

describe('TurnQueue', () => {
  it('renewals before releases before everything else, and each in order of arrival', async () => {
    const { ask, log, finish } = scene()
    const asked = [ask('first', 'other'), ask('o1', 'other'), ask('r1', 'release'), ask('o2', 'other'), ask('n1', 'renewal'), ask('r2', 'release')]
    await settle()
    for (let turn = 0; turn < 6; turn += 1) await finish()
    expect(log).toEqual(['first', 'n1', 'r1', 'r2', 'o1', 'o2'])
    expect(await Promise.all(asked)).toEqual(['first', 'o1', 'r1', 'o2', 'n1', 'r2'])
  })

  it('a turn that was given up, by deadline or abort, is nobody’s loss', async () => {
    const { ask, log, finish, clock } = scene()
    const controller = new AbortController()
    const first = ask('first', 'other')
    const [late, aborted, last] = [ask('late', 'other', { deadlineMs: 10 }), ask('aborted', 'other', { signal: controller.signal }), ask('last', 'other')]
    controller.abort(new Error('mine'))
    await clock.advance(10)
    expect(await late).toBe('late')
    expect(await aborted).toBe('mine')
    await finish()
    expect(await first).toBe('first')
    await finish()
    expect(await last).toBe('last')
    expect(log).toEqual(['first', 'last'])
    // Free again.
    const again = ask('again', 'other')
    await settle()
    await finish()
    expect(await again).toBe('again')
  })

  it('goes on when work fails', async () => {
    const clock = manualClock()
    const queue = new TurnQueue()
    const limits = { clock, urgency: 'other', deadlineMs: 10, onDeadline: () => new Error('late') } as const
    await expect(queue.run(async () => { throw new Error('no') }, limits)).rejects.toThrow('no')
    expect(await queue.run(async () => 1, limits)).toBe(1)
  })
})
