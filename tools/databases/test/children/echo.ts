// Prints what it is told, a tick every 20 ms, and what its clocks say.
import { createInterface } from 'node:readline'

const print = (line: unknown): void => { console.log(JSON.stringify(line)) }

print({ kind: 'clock', now: Date.now(), constructed: new Date().getTime(), parsed: Date.parse(Date()), fixed: new Date(0).getTime(),
  utc: Date.UTC(1970, 0, 1), instance: new Date() instanceof Date, performance: performance.timeOrigin + performance.now(), args: process.argv.slice(2) })
let tick = 0
setInterval(() => { print({ kind: 'tick', tick: tick++ }) }, 20)
for await (const line of createInterface({ input: process.stdin })) {
  if (line === '"fail"') { console.error('told to fail'); process.exit(3) }
  print({ kind: 'echo', message: JSON.parse(line) as unknown })
}
