import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tellGuardian } from './guardian.ts'
import { databasesHome, localObstacle } from './local-provisioning.ts'
import { requiredServers } from './required-servers.ts'
import { missingVariable, type ServerName } from './server-table.ts'
import type { Unavailable } from './server.ts'

const serverUid = 65_534
const templateFolder = (template: ServerName): string => join(databasesHome(), 'template', template)

/** Why no throw-away server can be made from this template here, or undefined when one can. `means`: its name in SCHED_TEST_REQUIRE. */
export function privateObstacle(means: string, template: ServerName): string | undefined {
  const obstacle = process.env[missingVariable(means)] ?? localObstacle()   // `npm test` may know more
  if (obstacle !== undefined) return obstacle
  if (existsSync(join(templateFolder(template), 'kit.json'))) return undefined
  return `not prepared: tools/databases/up.sh --prepare-only ${template}`
}

/** The answer where there is an obstacle; throws instead when SCHED_TEST_REQUIRE names what is missing. */
export function unavailable(means: string, reason: string): Unavailable {
  if (requiredServers().has(means)) throw new Error(`SCHED_TEST_REQUIRE names ${means}, but: ${reason}`)
  return { available: false, reason }
}

/** What up.sh wrote down of this template. */
export function readKit<Kit>(template: ServerName): Kit {
  return JSON.parse(readFileSync(join(templateFolder(template), 'kit.json'), 'utf8')) as Kit
}

/** A new folder with a copy of the template's data and these empty folders beside it; it is removed when the test process dies. */
export function copyTemplate(template: ServerName, prefix: string, emptyFolders: readonly string[] = []): string {
  const parent = join(databasesHome(), 'private')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, `${prefix}-`))
  tellGuardian({ kind: 'guard-folder', folder })
  for (const name of emptyFolders) mkdirSync(join(folder, name))
  for (const each of [folder, ...emptyFolders.map((name) => join(folder, name))]) chownSync(each, serverUid, serverUid)
  execFileSync('cp', ['-a', '--reflink=auto', join(templateFolder(template), 'data'), join(folder, 'data')])
  return folder
}
