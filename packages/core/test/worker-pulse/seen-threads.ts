// Remembers the worker threads that this process starts, so that a test can end them. To be imported before anything that starts one.
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

const faultChannel = 'sched-test-fault'
const seen: threads.Worker[] = []
const nothing = new Int32Array(new SharedArrayBuffer(4))

if (threads.isMainThread) {
  const Original = threads.Worker
  threads.Worker = class extends Original {
    constructor(...given: ConstructorParameters<typeof Original>) {
      super(...given)
      seen.push(this)
    }
  }
  syncBuiltinESMExports()
} else {
  // Preloaded into the thread: it ends itself when it is told to.
  const channel = new threads.BroadcastChannel(faultChannel)
  channel.onmessage = ({ data }) => {
    if (data === 'exit') process.exit(7)
    for (;;) Atomics.wait(nothing, 0, 0, 100)
  }
  channel.unref()
}

/** As a crash would: nothing of the thread runs any more. */
export async function terminateThread(): Promise<void> { await seen.at(-1)?.terminate() }

/** The thread calls `process.exit` itself, or never turns its event loop again. Needs this file preloaded. */
export function tellThread(fault: 'exit' | 'hang'): void {
  const channel = new threads.BroadcastChannel(faultChannel)
  channel.postMessage(fault)
  channel.close()
}
