import { onTestFinished } from 'vitest'
import { freshDatabase } from './fresh-database.ts'

/** The URL of an empty database of the current test alone. */
export async function emptyDatabase(serverUrl: string): Promise<string> {
  const database = await freshDatabase(serverUrl)
  onTestFinished(() => database.drop())
  return database.url
}
