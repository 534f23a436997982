// Runs beside a test process and outlives it by a moment: when the test process is gone, however it went, its end of the
// pipe closes, and what it had started ends too, frozen or not. Started by guardian.ts.
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GuardianMessage } from './guardian.ts'
import { killTree, processStatus, signal, thawTree } from './process-tree.ts'

const processes = new Map<number, { startTime: string, endWith: NodeJS.Signals }>()
const folders = new Set<string>()

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as GuardianMessage
  switch (message.kind) {
    case 'guard': processes.set(message.pid, { startTime: processStatus(message.pid)?.startTime ?? '', endWith: message.endWith }); break
    case 'release': processes.delete(message.pid); break
    case 'guard-folder': folders.add(message.folder); break
    case 'release-folder': folders.delete(message.folder); break
  }
}

// A pid that now belongs to another program has another start time.
const stillOurs = ([pid, { startTime }]: [number, { startTime: string }]): boolean => (processStatus(pid)?.startTime ?? '') === startTime

const remaining = [...processes].filter(stillOurs)
for (const [pid, { endWith }] of remaining) {
  if (endWith === 'SIGKILL') { killTree(pid); continue }
  thawTree(pid)
  signal(pid, endWith)
}
for (let tries = 0; tries < 40 && remaining.some((entry) => processStatus(entry[0]) !== undefined && stillOurs(entry)); tries++) await sleep(50)
for (const entry of remaining.filter(stillOurs)) killTree(entry[0])
for (const folder of folders) rmSync(folder, { recursive: true, force: true })
