/** What a heartbeat told of what waits for a start. */
export interface Waiting {
  readonly dbNow: number
  readonly nearestDueAt: number | null
  readonly latestDueAt: number | null
  readonly due: number
}

const longestPause = 16

/**
 * Whether to look for due rows at a heartbeat. What this node may not start (nobody carries it, or another service of the namespace does)
 * would cost a look each time for ever: as long as the same rows wait as those of which a look found nothing to start, less and less.
 */
export class DueLooks {
  readonly #graceMs: number
  /** What waited when the last look was asked for; undefined when that look may not see all of it. A new object for each, so that a look knows its own. */
  #asked: { readonly key: string } | undefined
  /** What waited when a look found nothing of it to start here. */
  #foreign: string | undefined
  /** In heartbeats. */
  #pause = 0
  #paused = 0

  /** `graceMs`: slots of the schedule are looked for when they have been due for so long. */
  constructor(graceMs: number) { this.#graceMs = graceMs }

  /** False when nothing waits, too. */
  due({ dbNow, nearestDueAt, latestDueAt, due }: Waiting): boolean {
    if (nearestDueAt === null || latestDueAt === null) return false
    const key = latestDueAt <= dbNow - this.#graceMs ? `${nearestDueAt} ${latestDueAt} ${due}` : undefined
    const foreign = key !== undefined && key === this.#foreign
    if (foreign && this.#paused < this.#pause) {
      this.#paused += 1
      return false
    }
    this.#pause = foreign ? Math.min(longestPause, 2 * this.#pause) : 1
    this.#paused = 0
    this.#asked = key === undefined ? undefined : { key }
    return true
  }

  /** A look begins. The answer says whether there was anything of a task that this node may start. */
  begin(): (startable: boolean) => void {
    const asked = this.#asked
    return (startable) => { if (asked !== undefined && asked === this.#asked) this.#foreign = startable ? undefined : asked.key }
  }

  /** Tasks have changed: what a look found says nothing any more. */
  reset(): void { this.#asked = this.#foreign = undefined }
}
