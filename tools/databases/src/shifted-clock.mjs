// Preload (`node --import`): shifts JavaScript's Date by SCHED_TEST_CLOCK_SHIFT_MS, and nothing else. performance.now,
// process.hrtime and timers go on as they are, and so does every other program: SQLite's clock is this process's own, so a
// shift below JavaScript would move the "database's" clock too.
const shiftMs = Number(process.env.SCHED_TEST_CLOCK_SHIFT_MS ?? '0')
if (!Number.isFinite(shiftMs)) throw new Error('SCHED_TEST_CLOCK_SHIFT_MS must be a number of milliseconds')

const RealDate = Date
const realNow = RealDate.now
RealDate.now = () => realNow() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [RealDate.now()] : args, newTarget),
  apply: (target) => new target(RealDate.now()).toString(),
})
RealDate.prototype.constructor = globalThis.Date
