import { SchedError, isSchedError, type ErrorCode } from '../errors.ts'

type Primitive = string | number | boolean | null

/** An error as it crosses a thread. A structured clone would keep the message and drop code, remedy and details. */
export interface WireError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  /** Of a driver's error. */
  readonly driverCode?: string | number | undefined
  readonly sched?: { readonly code: ErrorCode; readonly remedy: string | undefined; readonly retryable: boolean; readonly details: Readonly<Record<string, Primitive>> } | undefined
  readonly cause?: WireError | undefined
  /** Of an AggregateError. */
  readonly errors?: readonly WireError[] | undefined
}

const deepest = 5

export function toWire(error: Error, depth: number = deepest): WireError {
  const { cause } = error
  const driverCode = (error as { code?: unknown }).code
  return {
    name: error.name,
    message: isSchedError(error) ? bareMessage(error) : error.message,
    stack: error.stack,
    driverCode: !isSchedError(error) && (typeof driverCode === 'string' || typeof driverCode === 'number') ? driverCode : undefined,
    sched: isSchedError(error) ? { code: error.code, remedy: error.remedy, retryable: error.retryable, details: primitives(error.details) } : undefined,
    cause: cause instanceof Error && depth > 0 ? toWire(cause, depth - 1) : undefined,
    errors: error instanceof AggregateError && depth > 0 ? error.errors.filter((inner) => inner instanceof Error).map((inner) => toWire(inner, depth - 1)) : undefined,
  }
}

/** The error as it was, of this thread's own classes. */
export function fromWire(wire: WireError): Error {
  const cause = wire.cause === undefined ? undefined : fromWire(wire.cause)
  const error = wire.sched === undefined ? foreign(wire, cause) : ours(wire.message, wire.sched, cause)
  // Where it was thrown, not where it arrived.
  if (wire.stack !== undefined) Object.defineProperty(error, 'stack', { value: wire.stack, configurable: true, writable: true })
  return error
}

function ours(message: string, { code, remedy, retryable, details }: NonNullable<WireError['sched']>, cause: Error | undefined): SchedError {
  return new SchedError(code, message, { retryable, details, cause, ...(remedy === undefined ? {} : { remedy }) })
}

function foreign({ name, message, driverCode, errors }: WireError, cause: Error | undefined): Error {
  const options = cause === undefined ? undefined : { cause }
  const error = errors === undefined ? new Error(message, options) : new AggregateError(errors.map(fromWire), message, options)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return driverCode === undefined ? error : Object.assign(error, { code: driverCode })
}

/** The message as it was given to the constructor, which puts the code before it and the remedy behind it. */
function bareMessage({ message, code, remedy }: SchedError): string {
  const behind = remedy === undefined ? message.length : message.length - remedy.length - 1
  return message.slice(code.length + 2, behind)
}

function primitives(details: Readonly<Record<string, unknown>>): Record<string, Primitive> {
  return Object.fromEntries(Object.entries(details).filter((entry): entry is [string, Primitive] => {
    const [, value] = entry
    return value === null || ['string', 'number', 'boolean'].includes(typeof value)
  }))
}
