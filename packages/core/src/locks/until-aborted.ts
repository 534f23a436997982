import { asError } from '../errors.ts'
import { abortError } from '../time/wait.ts'

/** Awaits work that cannot be aborted itself, but not past the abort. It goes on behind: `onAbort` must make that harmless. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal, onAbort?: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => { onAbort?.(); reject(abortError(signal)) }
    const settled = (): void => signal.removeEventListener('abort', aborted)
    work.then((value) => { settled(); resolve(value) }, (error: unknown) => { settled(); reject(asError(error)) })
    if (signal.aborted) aborted()
    else signal.addEventListener('abort', aborted, { once: true })
  })
}
