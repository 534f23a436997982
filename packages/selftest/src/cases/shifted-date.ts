/** Runs the work while this process believes in another time. Monotonic time and timers go on as they are. */
export async function withShiftedDate<T>(shiftMs: number, work: () => Promise<T>): Promise<T> {
  const RealDate = globalThis.Date
  class ShiftedDate extends RealDate {
    constructor(...values: unknown[]) {
      if (values.length === 0) super(RealDate.now() + shiftMs)
      else super(...values as [number])
    }
    static override now(): number { return RealDate.now() + shiftMs }
  }
  globalThis.Date = ShiftedDate as DateConstructor
  try { return await work() } finally { globalThis.Date = RealDate }
}
