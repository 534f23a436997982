/** Nothing of this process runs for so long: as if it had been stopped and woken. */
export function blockEventLoop(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs)
}
