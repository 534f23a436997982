import type { JournalLine } from './journal.ts'

/** One line a person can read, or null for what would only be noise. */
export function describeLine(line: JournalLine, startedAt: number): string | null {
  const time = `${((line.at - startedAt) / 1000).toFixed(2).padStart(6)} s`
  const say = (text: string): string => `${time}  instance ${line.node}  ${text}`
  const slot = (fireTime: number): string => `${new Date(fireTime).toISOString().slice(11, 19)}`
  switch (line.kind) {
    case 'started': return say('is up with the whole schedule')
    case 'start': return say(`runs ${slot(line.fireTime)}${line.attempt === 1 && line.reason === 'scheduled' ? '' : ` again (attempt ${line.attempt}, ${line.reason})`}, token ${line.token}`)
    case 'end': return line.outcome === 'aborted' ? say(`was told to stop ${slot(line.fireTime)}: its lease is over`) : null
    case 'fenced': return say(`came too late with ${slot(line.fireTime)}: fenced, nothing written`)
    case 'recovered': return say(`recovered ${slot(line.fireTime)} of a dead instance`)
    case 'skipped': return say(`skipped ${slot(line.fireTime)}: ${line.reason}`)
    case 'caught-up': return say(`settled missed slots: ${line.missed} recorded${line.fireTime === null ? '' : `, ${slot(line.fireTime)} caught up`}`)
    case 'lost': return say('lost its lease')
    case 'error': return say(`error: ${line.message}`)
    case 'beat':
    case 'written': return null
  }
}
