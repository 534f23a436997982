import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { eventually, spawnNode, shiftedClock, type NodeChild } from '../src/index.ts'
import { processStatus } from '../src/process-tree.ts'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } })

const echo = new URL('./children/echo.ts', import.meta.url)
const answers = (port: number): Promise<boolean> => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true) })
  socket.on('error', () => { resolve(false) })
})
const ticks = (line: { kind?: unknown }): boolean => line.kind === 'tick'

describe('spawnNode', () => {
  it('reads JSON lines, past and future, and writes them', async () => {
    const child = spawnNode(echo, ['one', 'two'])
    const clock = await child.line((line) => line.kind === 'clock', 30_000)
    expect(clock.args).toEqual(['one', 'two'])
    expect(await child.line((line) => line.kind === 'clock', 1)).toBe(clock)
    child.send({ hello: 1 })
    expect((await child.line((line) => line.kind === 'echo', 30_000)).message).toEqual({ hello: 1 })
    await child.line(ticks, 30_000, child.lines.at(-1))
  })

  it('tells what the child said when the line does not come, or the child ends', async () => {
    const child = spawnNode(echo)
    await child.line(ticks, 30_000)
    await expect(child.line(() => false, 50)).rejects.toThrow(/within 50 ms[^]*still runs[^]*tick/)
    const waiting = child.line(() => false, 30_000)
    child.send('fail')
    await expect(waiting).rejects.toThrow(/ended with 3[^]*told to fail/)
    expect(await child.exited).toEqual({ code: 3, signal: null })
    expect(await child.kill()).toEqual({ code: 3, signal: null })
  })

  it('freezes and thaws', async () => {
    const child = spawnNode(echo)
    await child.line(ticks, 30_000)
    await child.freeze()
    expect(processStatus(child.pid)?.state).toBe('T')
    // What it had said by then may still be in the pipe; running, it says something every 20 ms.
    await eventually(async () => {
      const count = child.lines.length
      await sleep(200)
      return child.lines.length === count
    })
    child.thaw()
    await child.line(ticks, 30_000, child.lines.at(-1))
    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' })
  })

  let leftRunning: NodeChild
  it('ends the child with the test (first half)', () => {
    leftRunning = spawnNode(echo)
    expect(processStatus(leftRunning.pid)).toBeDefined()
  })
  it('ends the child with the test (second half)', async () => {
    expect((await leftRunning.exited).signal).toBe('SIGKILL')
  })

  describe('outside of a test', () => {
    let child: NodeChild
    beforeAll(() => { child = spawnNode(echo) })
    afterAll(async () => { await child.kill() })
    it('leaves the child to its owner (first half)', async () => { await child.line(ticks, 30_000) })
    it('leaves the child to its owner (second half)', async () => { await child.line(ticks, 30_000, child.lines.at(-1)) })
  })

  it('ends frozen children and private servers when the test process is killed', async () => {
    const parent = spawnNode(new URL('./children/orphan-maker.ts', import.meta.url))
    const started = await parent.line<{ child: number, port?: number, folder?: string }>((line) => line.kind === 'started', 60_000)
    expect(processStatus(started.child)?.state).toBe('T')
    process.kill(parent.pid, 'SIGKILL')   // only the parent: its child must not go with it by our hand
    await parent.exited
    await expect.poll(() => processStatus(started.child)?.state, { timeout: 30_000 }).toBeUndefined()
    if (started.port !== undefined) {
      const { port } = started
      await expect.poll(() => answers(port), { timeout: 30_000 }).toBe(false)
      await expect.poll(() => existsSync(started.folder ?? ''), { timeout: 30_000 }).toBe(false)
    }
  }, 120_000)
})

describe('shiftedClock', () => {
  it.each([3_000, -86_400_000])('shifts Date by %i ms, and only Date', async (shiftMs) => {
    const child = spawnNode(echo, [], shiftedClock(shiftMs))
    const clock = await child.line<{ now: number, constructed: number, parsed: number, performance: number }>((line) => line.kind === 'clock', 30_000)
    const off = (value: number): number => value - clock.performance
    expect(Math.abs(off(clock.now) - shiftMs)).toBeLessThan(1_000)
    expect(Math.abs(off(clock.constructed) - shiftMs)).toBeLessThan(1_000)
    expect(Math.abs(off(clock.parsed) - shiftMs)).toBeLessThan(2_000)   // Date() has whole seconds
    expect(clock).toMatchObject({ fixed: 0, utc: 0, instance: true })
  })
})
