// The worker thread of `pulse: 'worker'`: started by `ThreadLink`, never imported.
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { PulseHost } from './pulse-host.ts'
import type { ThreadData, ToThread } from './protocol.ts'

const port = parentPort as MessagePort
const host = new PulseHost(workerData as ThreadData, (message) => port.postMessage(message), () => port.close())
port.on('message', (message: ToThread) => host.receive(message))
process.once('exit', () => host.abandon())
