/**
 * Prints, as markdown, what a large schedule costs on PostgreSQL. `node report.ts [--url postgres://…]`: a server on which databases may be
 * made; without it one is started here. Exit code 1 when a bound does not hold.
 */
import { parseArgs } from 'node:util'
import { provision } from '@sched-dev/databases'
import { dueAtOnce } from './due.ts'
import { idleCosts } from './idle.ts'

const manyTasks = 10_000
const dueTasks = 1_000
const dueNodes = 4
const mostCpuShare = 0.01
const mostStartMs = 2_000

const { values } = parseArgs({ options: { url: { type: 'string' } } })
const url = values.url ?? await startServer()
const broken: string[] = []
const hold = (holds: boolean, bound: string): void => { if (!holds) broken.push(bound) }
const round = (value: number, digits = 0): string => value.toFixed(digits)

const costs = await idleCosts(url, [1, manyTasks])
console.log('| tasks | ledger | definitions, ms | start, ms | idle CPU, % of a core | timers | heap, MB |\n|---|---|---|---|---|---|---|')
for (const { tasks, ledger, definedMs, startMs, cpuShare, timers, heapMb } of costs) {
  console.log(`| ${tasks} | ${ledger} | ${round(definedMs)} | ${round(startMs)} | ${round(100 * cpuShare, 2)} | ${timers} | ${round(heapMb)} |`)
  hold(cpuShare < mostCpuShare, `${tasks} tasks: idle CPU under ${100 * mostCpuShare} % of a core`)
  hold(startMs < mostStartMs, `${tasks} tasks, ledger ${ledger}: a start under ${mostStartMs} ms`)
}
const timersOf = (size: number): number => Math.max(...costs.filter(({ tasks }) => tasks === size).map(({ timers }) => timers))
hold(timersOf(manyTasks) === timersOf(1), `${manyTasks} tasks arm as many timers as one`)

const { rounds, errors, byNode } = await dueAtOnce(url, dueTasks, dueNodes, 3)
console.log(`\n${dueTasks} tasks due in one second on ${dueNodes} instances; starts by instance: ${byNode.join(', ')}\n\n| round | started | twice | late: p50, ms | p99 | max |\n|---|---|---|---|---|---|`)
for (const [index, { runs, runTwice, lateMs }] of rounds.entries()) {
  const sorted = [...lateMs].sort((a, b) => a - b)
  const quantile = (share: number): string => round(sorted[Math.ceil(share * sorted.length) - 1] ?? NaN)
  console.log(`| ${index + 1} | ${runs} | ${runTwice} | ${quantile(0.5)} | ${quantile(0.99)} | ${quantile(1)} |`)
  hold(runs === dueTasks && runTwice === 0, `round ${index + 1}: each of ${dueTasks} tasks runs once`)
}
hold(errors.length === 0, `no error: ${errors.slice(0, 3).join('; ')}`)

for (const bound of broken) console.error(`does not hold: ${bound}`)
process.exitCode = broken.length === 0 ? 0 : 1

async function startServer(): Promise<string> {
  const { urls, failures } = await provision(['postgres'])
  const [found] = urls.values()
  if (found === undefined) throw new Error(`no PostgreSQL: ${[...failures.values()].join('; ')}. Give one with --url.`)
  return found
}
