import type { ConformanceCase } from '../case.ts'
import { clockCases } from './clock.ts'
import { connectCases } from './connect.ts'
import { contentionCases } from './contention.ts'
import { errorCases } from './errors.ts'
import { fencingCases } from './fencing.ts'
import { heldCases } from './held.ts'
import { inspectCases } from './inspect.ts'
import { leaseCases } from './lease.ts'
import { lossCases } from './loss.ts'
import { nameCases } from './names.ts'
import { ownerCases } from './owner.ts'
import { pinningCases } from './pinning.ts'
import { refreshCases } from './refresh.ts'
import { releaseCases } from './release.ts'
import { residueCases } from './residue.ts'
import { tryCases } from './try.ts'
import { waitCases } from './wait.ts'

/** Every case, in the order it is run: what others build on comes first. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...connectCases, ...tryCases, ...releaseCases, ...ownerCases, ...heldCases, ...inspectCases, ...waitCases, ...refreshCases, ...leaseCases,
  ...fencingCases, ...lossCases, ...pinningCases, ...nameCases, ...contentionCases, ...clockCases, ...errorCases, ...residueCases,
]
