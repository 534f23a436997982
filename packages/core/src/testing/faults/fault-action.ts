import type { ErrorClass } from '../../spi/error-class.ts'

/** Before the request leaves the process, or when the server has done its work and before the answer arrives. */
export type FaultMoment = 'before-send' | 'before-reply'

/** What goes wrong with a statement. */
export type FaultAction =
  /** The connection breaks: the server ends the session, the process is told at once. */
  | { readonly kind: 'lose'; readonly when: FaultMoment }
  /** The message vanishes: nobody is told, and the process waits until its own deadline. */
  | { readonly kind: 'silence'; readonly when: FaultMoment }
  | { readonly kind: 'delay'; readonly when: FaultMoment; readonly ms: number }
  /** The server answers with an error instead of doing it; `before-reply`: although it has done it. */
  | { readonly kind: 'fail'; readonly when: FaultMoment; readonly errorClass: ErrorClass }
  /** The process stands still from this moment, for good or for a time. */
  | { readonly kind: 'freeze'; readonly when: FaultMoment; readonly forMs?: number; readonly first?: 'timers' | 'outside' }
  /** The process is killed at this moment. */
  | { readonly kind: 'kill'; readonly when: FaultMoment }

export const lose = (when: FaultMoment): FaultAction => ({ kind: 'lose', when })
export const silence = (when: FaultMoment): FaultAction => ({ kind: 'silence', when })
export const delay = (ms: number, when: FaultMoment = 'before-send'): FaultAction => ({ kind: 'delay', when, ms })
export const fail = (errorClass: ErrorClass, when: FaultMoment = 'before-send'): FaultAction => ({ kind: 'fail', when, errorClass })
/** @param first what happens first after the thaw: overdue timers, or what came from outside and waits to be sent */
export const freeze = (when: FaultMoment, forMs?: number, first: 'timers' | 'outside' = 'timers'): FaultAction => ({ kind: 'freeze', when, first, ...(forMs === undefined ? {} : { forMs }) })
export const kill = (when: FaultMoment): FaultAction => ({ kind: 'kill', when })
