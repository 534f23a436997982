/** How long a piece of work keeps the processor: on a busy machine the time on the wall says more about the others. */
export function cpuMs(work: () => void): number {
  const began = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1_000
}
