import { SchedError } from '../../errors.ts'

/**
 * What happens on the dates on which a zone's wall clock jumps, whether or not the jump is called daylight saving. Fixed intervals are not affected.
 */
export interface DstRule {
  /**
   * A wall-clock time that does not exist on a date. `skip` (default): the task does not fire for it. `run-after`: it fires once at the first instant after
   * the gap, however many of its times are lost in it; tasks whose hour field covers all 24 hours follow real time and make up for nothing.
   */
  readonly gap?: 'skip' | 'run-after'
  /**
   * A wall-clock time that comes twice. `auto` (default): tasks whose hour field covers all 24 hours fire on both passes, all others on the first only.
   * `once`: the first pass only, so that `*\/15` is silent for an hour. `both`: both passes, so that a daily task may run twice.
   */
  readonly overlap?: 'auto' | 'once' | 'both'
}

const gaps: readonly unknown[] = ['skip', 'run-after'] satisfies DstRule['gap'][]
const overlaps: readonly unknown[] = ['auto', 'once', 'both'] satisfies DstRule['overlap'][]

/**
 * The rule with its defaults filled in.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function resolveDst(dst: DstRule | undefined): Required<DstRule> {
  if (dst !== undefined && (typeof dst !== 'object' || dst === null)) {
    throw new SchedError('SCHED_OPTION_INVALID', `dst is ${JSON.stringify(dst)}, expected an object such as { gap: 'skip', overlap: 'auto' }.`, { details: { option: 'dst' } })
  }
  const gap = dst?.gap ?? 'skip'
  const overlap = dst?.overlap ?? 'auto'
  if (!gaps.includes(gap)) throw invalid('dst.gap', gap, gaps)
  if (!overlaps.includes(overlap)) throw invalid('dst.overlap', overlap, overlaps)
  return { gap, overlap }
}

function invalid(option: string, found: unknown, allowed: readonly unknown[]): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', `${option} is ${JSON.stringify(found)}, expected ${allowed.map((value) => `'${String(value)}'`).join(' or ')}.`, {
    details: { option, found, allowed },
  })
}
