/** A wall reading (what `Date.UTC` gives for it) as people write it. */
export function wallDate(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10)
}

/** Hours and minutes, with seconds only where they are not zero. */
export function wallTime(wall: number): string {
  const text = new Date(wall).toISOString().slice(11, 19)
  return text.endsWith(':00') ? text.slice(0, 5) : text
}

/** An instant in a zone: `2027-03-28T03:00:00+02:00`. */
export function zonedText(instant: number, offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000
  const offset = `${two(Math.floor(minutes / 60))}:${two(Math.floor(minutes % 60))}`
  return `${new Date(instant + offsetMs).toISOString().slice(0, 19)}${offsetMs < 0 ? '-' : '+'}${offset}`
}

/** An instant in UTC: `2027-03-28T01:00:00Z`. */
export function utcText(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z')
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
