import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { both, runTogether, shortLease, slackMs } from './scenarios.ts'

const version = (revision: number, everyMs: number) => ({ options: { ...shortLease, revision }, tasks: [{ name: 'job', options: { everyMs }, handler: { do: 'work', ms: 5 } as const }] })

async function rollingDeploy(cluster: Cluster): Promise<void> {
  const old = cluster.instance(version(1, 1_000))
  await old.line(({ kind }) => kind === 'end', 60_000)
  const newer = cluster.instance(version(2, 2_000))
  const { at } = await newer.started()
  const supersededAt = (await old.event('definition.superseded')).at
  expect(supersededAt - at).toBeLessThan(shortLease.heartbeatMs + slackMs)
  await newer.line((line) => line.kind === 'start' && line.at > supersededAt + 100)
  await sleep(4_200)
  // Only the newer definition fires, and only where it is.
  const after = cluster.starts().filter((line) => line.at > supersededAt + 100)
  expect(after.length).toBeGreaterThanOrEqual(1)
  for (const { fireTime } of after) expect((fireTime as number) % 2_000).toBe(0)
  expect(old.starts().filter((line) => line.at > supersededAt + 100)).toEqual([])

  // The canary dies: what nobody carries any more is replaced by what is alive.
  await newer.child.kill()
  const again = await old.line((line) => line.kind === 'start' && line.at > supersededAt + 4_000, 40_000)
  expect(again.task).toBe('job')
}

async function laterBootRules(cluster: Cluster): Promise<void> {
  const first = cluster.instance(version(0, 1_000))
  await first.line(({ kind }) => kind === 'end', 60_000)
  const second = cluster.instance(version(0, 2_000))
  await second.started()
  await first.event('definition.superseded')
  await second.line(({ kind }) => kind === 'end')
  // A rollback by starting the old one again.
  const third = cluster.instance(version(0, 1_000))
  await third.started()
  const { at } = await second.event('definition.superseded')
  // It rules again, and whoever carries it runs it.
  await Promise.any([first, third].map((instance) => instance.line((line) => line.kind === 'end' && line.at > at)))
  const fireTimes = cluster.starts().filter(({ attempt }) => attempt === 1).map(({ fireTime }) => fireTime)
  expect(new Set(fireTimes).size).toBe(fireTimes.length)
}

runTogether([
  { title: 'P1: in a rolling deploy the higher revision rules, and when nobody carries it any more the living take over', on: both, run: rollingDeploy },
  { title: 'P1: without revisions the later boot rules, a rollback included', on: both, run: laterBootRules },
])
