import { parseArgs } from 'node:util'
import type { TableOptions } from '../ledger/tables.ts'

/** How many words a command takes. */
const words = { migrate: [0, 0], tasks: [0, 0], executions: [0, 1], locks: [0, 1], explain: [2, 2], pause: [1, 1], resume: [1, 1], trigger: [1, 1], cancel: [1, 1], retry: [1, 1], reschedule: [1, 2] } as const

export type CommandName = keyof typeof words

export interface Arguments {
  readonly command: CommandName
  readonly words: readonly string[]
  readonly url: string
  readonly dialect: string | undefined
  readonly namespace: string | undefined
  readonly tables: TableOptions
  readonly reason: string | undefined
  readonly key: string | undefined
  readonly state: string | undefined
  readonly limit: number | undefined
  readonly timeZone: string | undefined
  readonly clear: boolean
  readonly print: boolean
  readonly json: boolean
}

/** `help`, or what is wrong with the words. */
export type Refusal = { readonly help: true } | { readonly fault: string }

export function parseArguments(args: readonly string[]): Arguments | Refusal {
  let parsed
  try {
    parsed = parseArgs({
      args: [...args], allowPositionals: true,
      options: {
        url: { type: 'string' }, dialect: { type: 'string' }, namespace: { type: 'string' }, schema: { type: 'string' }, prefix: { type: 'string' }, reason: { type: 'string' }, key: { type: 'string' },
        state: { type: 'string' }, limit: { type: 'string' }, 'time-zone': { type: 'string' },
        clear: { type: 'boolean', default: false }, print: { type: 'boolean', default: false }, json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    // parseArgs speaks of unknown options as TypeErrors.
    if (!(error instanceof TypeError)) throw error
    return { fault: error.message }
  }
  const { values, positionals: [name, ...rest] } = parsed
  if (values.help) return { help: true }
  if (name === undefined) return { fault: 'no command was given.' }
  if (!(name in words)) return { fault: `there is no command ${JSON.stringify(name)}.` }
  const command = name as CommandName
  const [least, most] = words[command]
  if (rest.length < least || rest.length > most) return { fault: `${command} takes ${least === most ? least : `${least} to ${most}`} words, found ${rest.length}.` }
  if (values.url === undefined) return { fault: '--url is missing.' }
  const limit = values.limit === undefined ? undefined : Number(values.limit)
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 1)) return { fault: `--limit is ${JSON.stringify(values.limit)}: expected a whole number from 1.` }
  if (command === 'reschedule' && values.clear === (rest.length === 2)) return { fault: 'reschedule takes either a cron expression or --clear.' }
  if (command === 'explain' && Number.isNaN(Date.parse(rest[1] as string))) return { fault: `${JSON.stringify(rest[1])} is no time: expected one like 2027-03-28T01:00:00Z.` }
  return {
    command, words: rest, url: values.url, dialect: values.dialect, namespace: values.namespace,
    tables: { ...(values.schema === undefined ? {} : { schema: values.schema }), ...(values.prefix === undefined ? {} : { prefix: values.prefix }) },
    reason: values.reason, key: values.key, state: values.state, limit, timeZone: values['time-zone'], clear: values.clear, print: values.print, json: values.json,
  }
}
