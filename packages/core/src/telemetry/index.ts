export { onFinalFailure, type FinalFailure } from './final-failure.ts'
export { watchHealth, type HealthProblem, type HealthReport, type HealthWatch } from './health.ts'
export { onlooker } from './onlooker.ts'
export type { EventSource } from './subscribe.ts'
