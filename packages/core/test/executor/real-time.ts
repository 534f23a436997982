/** Real time, comparable with the journals of other processes, whatever `Date` says there. */
export function realTime(): number { return performance.timeOrigin + performance.now() }
