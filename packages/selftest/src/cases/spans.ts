/** From when something was asked until it was answered, by this process: the server did it somewhere between. */
export interface Span { readonly from: number; readonly to: number }

export async function spanned<T>(work: () => Promise<T>): Promise<{ result: T; span: Span }> {
  const from = performance.now()
  const result = await work()
  return { result, span: { from, to: performance.now() } }
}

/** How far apart the server can have done two things, however long this process was held up meanwhile. */
export function between(first: Span, second: Span): { leastMs: number; mostMs: number } {
  return { leastMs: second.from - first.to, mostMs: second.to - first.from }
}
