import { connectionMutants } from './connection-mutants.ts'
import { errorMutants } from './error-mutants.ts'
import { grantMutants } from './grant-mutants.ts'
import { leaseMutants } from './lease-mutants.ts'
import { libraryMutants } from './library-mutants.ts'
import { lookMutants } from './look-mutants.ts'
import type { Mutant } from './mutant.ts'
import { nameMutants } from './name-mutants.ts'
import { refreshMutants } from './refresh-mutants.ts'
import { releaseMutants } from './release-mutants.ts'

export const mutants: readonly Mutant[] = [
  ...connectionMutants, ...grantMutants, ...releaseMutants, ...refreshMutants, ...lookMutants, ...leaseMutants, ...nameMutants, ...errorMutants, ...libraryMutants,
]
