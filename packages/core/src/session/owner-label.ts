import { hostname } from 'node:os'

/** This process, for people: host and pid. Never what decides who owns something. */
export function ownerLabel(): string { return `${hostname()}:${process.pid}` }

/** What a database's operator sees beside our sessions (application_name and the like). */
export function sessionLabel(namespace: string): string { return `sched:${namespace}:${ownerLabel()}` }
