import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { terminalStates, transition, transitions, type ExecutionState } from '../../src/ledger/execution-state.ts'
import { finishExecution, type AttemptKey } from '../../src/ledger/finish.ts'
import { settleMissed } from '../../src/ledger/missed.ts'
import { cancelExecution } from '../../src/ledger/operate.ts'
import { retryExecution } from '../../src/ledger/retry-execution.ts'
import { insertSlot, skipSlot } from '../../src/ledger/slot.ts'
import { startExecution } from '../../src/ledger/start.ts'
import { sweep } from '../../src/ledger/sweep.ts'
import { hash, Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const states: readonly ExecutionState[] = ['pending', 'running', 'retry', 'succeeded', 'failed', 'skipped', 'missed']

// The design's table (section 5), written a second time by hand.
const legal: Readonly<Record<ExecutionState | 'new', string>> = {
  new: 'pending missed skipped', pending: 'running skipped missed failed', running: 'succeeded failed retry', retry: 'running failed',
  succeeded: '', failed: 'retry', skipped: 'retry', missed: 'retry',
}
const isLegal = (from: ExecutionState | 'new', to: ExecutionState): boolean => legal[from].split(' ').includes(to)

describe('the state machine', () => {
  it.each([...states, 'new'] as const)('P10: every change from %s is legal or throws, as the design says', (from) => {
    for (const to of states) {
      if (isLegal(from, to)) expect(transition(from, to)).toBe(to)
      else expect(() => transition(from, to)).toThrow(expect.toSatisfy((error: unknown) => isSchedError(error)))
    }
    expect([...transitions[from]].sort().join(' ')).toBe(legal[from].split(' ').sort().join(' '))
  })

  it('P6: terminal are the states that only a hand can leave', () => {
    expect(states.filter((state) => transitions[state].every((to) => to === 'retry') && state !== 'running')).toEqual([...terminalStates])
  })
})

interface Row { readonly scene: Scene; readonly me: string; readonly dead: string; readonly key: AttemptKey; readonly fireTime: number; readonly armedFrom: number }

/** A statement that changes an existing row: the states it changes (all others it leaves alone), and the state it leads to. */
interface Change { readonly from: readonly ExecutionState[]; readonly to: ExecutionState; readonly run: (row: Row) => Promise<unknown> }

const waiting: readonly ExecutionState[] = ['pending', 'retry']
const recovery = (recover: boolean) => ({ scene, me }: Row) => sweep(scene.ledger, { nodeId: me, owners: () => new Set(), rule: () => ({ recover, stall: false, maxCrashes: 9 }) })

const statements: Readonly<Record<string, Change>> = {
  'slot': { from: [], to: 'pending', run: ({ scene, fireTime }) => insertSlot(scene.ledger, scene.slot(fireTime)) },
  'start': { from: waiting, to: 'running', run: ({ scene, me, key }) => startExecution(scene.ledger, scene.startRequest(key.executionId, me, { gated: false })) },
  'finish: succeeded': { from: ['running'], to: 'succeeded', run: ({ scene, key }) => finishExecution(scene.ledger, key, { state: 'succeeded' }, { clearGate: true }) },
  'finish: failed': { from: ['running'], to: 'failed', run: ({ scene, key }) => finishExecution(scene.ledger, key, { state: 'failed', errorCode: 'E', errorText: 'text' }, { clearGate: true }) },
  'finish: retry': { from: ['running'], to: 'retry', run: ({ scene, key }) => finishExecution(scene.ledger, key, { state: 'retry', reason: 'retry', delayMs: 0, charged: true, errorCode: 'E', errorText: 'text' }, { clearGate: true }) },
  'sweep: retry': { from: ['running'], to: 'retry', run: recovery(true) },
  'sweep: failed': { from: ['running'], to: 'failed', run: recovery(false) },
  'skip': { from: ['pending'], to: 'skipped', run: ({ scene, key }) => skipSlot(scene.ledger, key.executionId, { code: 'overlap', text: 'busy' }) },
  'missed scan': {
    from: ['pending'], to: 'missed',
    run: ({ scene, fireTime, armedFrom }) => settleMissed(scene.ledger, { taskName: 'job', definitionHash: hash, armedFrom, fireTimes: [fireTime], orphansUntil: fireTime, catchUp: () => [], stall: false, newId: randomUUID }),
  },
  'cancel': { from: waiting, to: 'failed', run: ({ scene, key }) => cancelExecution(scene.ledger, key.executionId, 'enough.') },
  'retry by hand': { from: ['failed', 'skipped', 'missed'], to: 'retry', run: ({ scene, key }) => retryExecution(scene.ledger, key.executionId) },
}

describeStores('the state machine in the database', (ground) => {
  it.each(Object.entries(statements))('P7: %s changes a row only where the table allows it', async (name, { from, to, run }) => {
    for (const state of states) {
      const scene = new Scene(ground())
      const [me, dead] = [await scene.addNode(), await scene.addNode({ state: 'dead' })]
      const fireTime = await scene.now() - 500
      const armedFrom = fireTime - 60_000
      await scene.addTask('job', { armed_from: armedFrom })
      const key = await scene.addExecutionIn(state, dead, { fire_time: fireTime, due_at: fireTime })
      const before = await scene.execution(key.executionId)
      await run({ scene, me, dead, key, fireTime, armedFrom })
      const after = await scene.execution(key.executionId)
      const change = `${state}→${to}`
      // What runs is only asked to end.
      const asked = name === 'cancel' && state === 'running' ? { cancel_requested_at: expect.any(Number) as number } : {}
      if (from.includes(state)) expect(isLegal(state, to) && after['state'], change).toBe(to)
      else expect(after, change).toEqual({ ...before, ...asked })
      expect(await scene.executions()).toHaveLength(1)
    }
  })

  it('P10: every change that the table allows is made by a statement', () => {
    const made = (from: ExecutionState, to: ExecutionState): boolean => Object.values(statements).some((statement) => statement.to === to && statement.from.includes(from))
    const missing = states.flatMap((from) => states.filter((to) => isLegal(from, to) && !made(from, to)).map((to) => `${from}→${to}`))
    expect(missing).toEqual([])
  })
})
