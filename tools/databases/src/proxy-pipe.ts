import type { Socket } from 'node:net'

type Item = { kind: 'bytes', bytes: Buffer, dueAt: number } | { kind: 'end', dueAt: number }

/** One direction of a proxied connection: keeps order, holds everything back while it is silent, delays by `delayMs`. */
export class ProxyPipe {
  #to: Socket
  #queue: Item[] = []
  #silent = false
  #delayMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(to: Socket) {
    this.#to = to
  }

  set delayMs(value: number) {
    this.#delayMs = value
  }

  set silent(value: boolean) {
    this.#silent = value
    if (!value) this.#pump()
  }

  write(bytes: Buffer): void {
    this.#queue.push({ kind: 'bytes', bytes, dueAt: performance.now() + this.#delayMs })
    this.#pump()
  }

  /** The sender has finished: passed on in its turn, so that behind a black hole the other side does not hear of it. */
  end(): void {
    this.#queue.push({ kind: 'end', dueAt: performance.now() + this.#delayMs })
    this.#pump()
  }

  discard(): void {
    clearTimeout(this.#timer)
    this.#queue = []
  }

  #pump(): void {
    clearTimeout(this.#timer)
    while (!this.#silent) {
      const first = this.#queue[0]
      if (first === undefined) return
      const waitMs = first.dueAt - performance.now()
      if (waitMs > 0) {
        this.#timer = setTimeout(() => { this.#pump() }, Math.ceil(waitMs))
        return
      }
      this.#queue.shift()
      if (this.#to.destroyed) continue
      if (first.kind === 'bytes') this.#to.write(first.bytes)
      else this.#to.end()
    }
  }
}
