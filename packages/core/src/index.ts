export { SchedError, errorCodes, isSchedError, type ErrorCode } from './errors.ts'
