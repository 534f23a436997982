import { appendFileSync, readFileSync } from 'node:fs'

/** What an instance writes down itself, at once and to disk: the ledger's word is checked against it. */
export type JournalLine =
  | { readonly kind: 'started' | 'beat' | 'lost'; readonly node: number; readonly at: number }
  | { readonly kind: 'start'; readonly node: number; readonly at: number; readonly fireTime: number; readonly attempt: number; readonly token: number; readonly reason: string }
  | { readonly kind: 'end'; readonly node: number; readonly at: number; readonly fireTime: number; readonly attempt: number; readonly token: number; readonly outcome: 'returned' | 'aborted' }
  | { readonly kind: 'written' | 'fenced'; readonly node: number; readonly at: number; readonly fireTime: number; readonly attempt: number; readonly token: number }
  | { readonly kind: 'skipped'; readonly node: number; readonly at: number; readonly fireTime: number; readonly reason: string }
  | { readonly kind: 'recovered'; readonly node: number; readonly at: number; readonly fireTime: number }
  | { readonly kind: 'caught-up'; readonly node: number; readonly at: number; readonly fireTime: number | null; readonly missed: number }
  | { readonly kind: 'error'; readonly node: number; readonly at: number; readonly message: string }

/** A SIGKILL right after it loses nothing: the line is in the kernel's hands. */
export function writeLine(file: string, line: JournalLine): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

export function readJournal(file: string): JournalLine[] {
  return readFileSync(file, 'utf8').split('\n').filter((text) => text !== '').map((text) => JSON.parse(text) as JournalLine)
}
