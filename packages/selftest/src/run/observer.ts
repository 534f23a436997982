import type { LockConnection, LockSource, OpenOptions } from '@sched/core/spi'
import { sessionSurvives } from '@sched/core/spi'
import { persistent } from './persistent.ts'

/** One connection of the run's own, used by one question at a time and opened again when it is lost. */
export class Observer {
  readonly #source: LockSource
  readonly #options: OpenOptions
  #connection: LockConnection | undefined
  #tail: Promise<unknown> = Promise.resolve()

  constructor(source: LockSource, options: OpenOptions) {
    this.#source = source
    this.#options = options
  }

  ask<T>(question: (connection: LockConnection) => Promise<T>): Promise<T> {
    const answer = this.#tail.then(() => this.#ask(question))
    // The next question may be asked whatever became of this one, whose caller gets the error.
    this.#tail = answer.catch(() => undefined)
    return answer
  }

  close(): void {
    this.#connection?.destroy()
    this.#connection = undefined
  }

  async #ask<T>(question: (connection: LockConnection) => Promise<T>): Promise<T> {
    const reused = this.#connection !== undefined
    try { return await this.#askOnce(question) } catch (error) {
      const errorClass = this.#source.classify(error)
      if (!sessionSurvives.has(errorClass)) this.close()
      // It may have ended between two questions; any other failure is for the asker to know.
      if (!reused || errorClass !== 'connection-lost') throw error
      return this.#askOnce(question)
    }
  }

  async #askOnce<T>(question: (connection: LockConnection) => Promise<T>): Promise<T> {
    const connection = this.#connection ??= await this.#source.open('pulse', this.#options)
    return persistent(this.#source, () => question(connection))
  }
}
