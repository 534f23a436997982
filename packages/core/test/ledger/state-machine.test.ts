import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { terminalStates, transition, transitions, type ExecutionState } from '../../src/ledger/execution-state.ts'
import { finishExecution, type AttemptKey } from '../../src/ledger/finish.ts'
import { settleMissed } from '../../src/ledger/missed.ts'
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

/** Every way in which a statement of the ledger changes an existing row, by the state it leads to. */
const statements: Readonly<Record<string, { readonly to: ExecutionState; readonly run: (row: Row) => Promise<unknown> }>> = {
  'slot': { to: 'pending', run: ({ scene, fireTime }) => insertSlot(scene.ledger, scene.slot(fireTime)) },
  'start': { to: 'running', run: ({ scene, me, key }) => startExecution(scene.ledger, scene.startRequest(key.executionId, me, { gated: false })) },
  'finish: succeeded': { to: 'succeeded', run: ({ scene, key }) => finishExecution(scene.ledger, key, { state: 'succeeded' }, { clearGate: true }) },
  'finish: failed': { to: 'failed', run: ({ scene, key }) => finishExecution(scene.ledger, key, { state: 'failed', errorCode: 'E', errorText: 'text' }, { clearGate: true }) },
  'finish: retry': { to: 'retry', run: ({ scene, key }) => finishExecution(scene.ledger, key, { state: 'retry', reason: 'retry', delayMs: 0, charged: true, errorCode: 'E', errorText: 'text' }, { clearGate: true }) },
  'sweep: retry': { to: 'retry', run: ({ scene, me }) => sweep(scene.ledger, { nodeId: me, owners: () => new Set(), rule: () => ({ recover: true, stall: false, maxCrashes: 9 }) }) },
  'sweep: failed': { to: 'failed', run: ({ scene, me }) => sweep(scene.ledger, { nodeId: me, owners: () => new Set(), rule: () => ({ recover: false, stall: false, maxCrashes: 9 }) }) },
  'skip': { to: 'skipped', run: ({ scene, key }) => skipSlot(scene.ledger, key.executionId, { code: 'overlap', text: 'busy' }) },
  'missed scan': {
    to: 'missed',
    run: ({ scene, fireTime, armedFrom }) => settleMissed(scene.ledger, { taskName: 'job', definitionHash: hash, armedFrom, fireTimes: [fireTime], catchUp: () => [], stall: false, newId: randomUUID }),
  },
}

// Changes that the table allows and no statement makes yet: cancelling, giving a pending slot up as missed, and what is done by hand.
const notMade = ['pending→failed', 'pending→missed', 'retry→failed', 'failed→retry', 'skipped→retry', 'missed→retry']

describeStores('the state machine in the database', (ground) => {
  it.each(Object.entries(statements))('P7: %s changes a row only where the table allows it', async (_, { to, run }) => {
    for (const from of states) {
      const scene = new Scene(ground())
      const [me, dead] = [await scene.addNode(), await scene.addNode({ state: 'dead' })]
      const fireTime = await scene.now() - 500
      const armedFrom = fireTime - 60_000
      await scene.addTask('job', { armed_from: armedFrom })
      const key = await scene.addExecutionIn(from, dead, { fire_time: fireTime, due_at: fireTime })
      const before = await scene.execution(key.executionId)
      await run({ scene, me, dead, key, fireTime, armedFrom })
      const after = await scene.execution(key.executionId)
      const change = `${from}→${to}`
      if (isLegal(from, to) && !notMade.includes(change)) expect(after['state'], change).toBe(to)
      else expect(after, change).toEqual(before)
      expect(await scene.executions()).toHaveLength(1)
    }
  })

  it('P10: the changes that no statement makes yet are these', () => {
    const made = (from: ExecutionState, to: ExecutionState): boolean => Object.values(statements).some((statement) => statement.to === to) && !notMade.includes(`${from}→${to}`)
    const missing = states.flatMap((from) => states.filter((to) => isLegal(from, to) && !made(from, to)).map((to) => `${from}→${to}`))
    expect(missing.sort()).toEqual([...notMade].sort())
  })
})
