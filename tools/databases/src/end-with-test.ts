import { onTestFinished, TestRunner } from 'vitest'

/**
 * Runs `dispose` when the current test ends. Outside of a test (a beforeAll hook, a plain script) nothing is registered:
 * the caller disposes, and the guardian ends what is left when the process does.
 */
export function endWithTest(dispose: () => Promise<void>): void {
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(dispose)
}
