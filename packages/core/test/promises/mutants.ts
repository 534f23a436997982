// Breaks a copy of the core on purpose, one breakage at a time, and reports which test noticed. By hand, with the servers up:
//   node packages/core/test/promises/mutants.ts [words of a mutant's name …]
// Exit code 1 when a mutant survives, or when its text no longer occurs in the source.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mutants, type Mutant } from './mutant-list.ts'

interface Report { readonly testResults: readonly { readonly name: string; readonly status: string; readonly message: string; readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[] }[] }

const core = fileURLToPath(new URL('../../', import.meta.url))
const root = fileURLToPath(new URL('../../../../', import.meta.url))
const wanted = process.argv.slice(2)

/** The core by itself: what it needs is found where it is, so that dialects and tools stay unbroken. */
function copyCore(): string {
  const home = join(folder, 'core')
  for (const part of ['src', 'test', 'package.json', 'vitest.config.ts']) cpSync(join(core, part), join(home, part), { recursive: true })
  symlinkSync(join(core, 'node_modules'), join(home, 'node_modules'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  // Their stand-ins are named by their place.
  for (const dialect of ['dialect-oracle', 'dialect-sqlserver']) symlinkSync(join(root, 'packages', dialect), join(folder, dialect))
  return home
}

/** Titles of the tests that failed. A file that does not even load is a mutant that proves nothing. */
function failures(home: string, { tests, only }: Pick<Mutant, 'tests' | 'only'>): string[] {
  const report = join(home, 'report.json')
  rmSync(report, { force: true })
  // Its own resolution of vitest, as in the checkout; a cache would remember the source of the mutant before.
  const { stderr } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', home, '--fsModuleCache=false', '--reporter=json', `--outputFile=${report}`,
    ...(only === undefined ? [] : ['-t', only]), ...tests.map((file) => `test/${file}.test.ts`)], { encoding: 'utf8', cwd: home })
  let parsed: Report
  try {
    parsed = JSON.parse(readFileSync(report, 'utf8')) as Report
  } catch (error) {
    throw new Error(`the tests did not run: ${stderr.slice(-2_000)}`, { cause: error })
  }
  const broken = parsed.testResults.find(({ assertionResults }) => assertionResults.length === 0)
  if (broken !== undefined) throw new Error(`${broken.name} did not load: ${broken.message}`)
  return parsed.testResults.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((result) => result.status === 'failed').map(({ fullName }) => fullName.trim())
    return failed.length === 0 && status === 'failed' ? [`a hook of ${basename(name)}`] : failed
  })
}

/** What fails without any mutant proves nothing: each set of tests is first run on the source as it is. */
const sound = new Map<string, Set<string>>()
function failuresUnbroken(mutant: Mutant): Set<string> {
  const key = `${mutant.tests.join(' ')} ${mutant.only ?? ''}`
  const known = sound.get(key) ?? new Set(failures(home, mutant))
  sound.set(key, known)
  return known
}

const folder = mkdtempSync(join(tmpdir(), 'sched-mutants-'))
const home = copyCore()
const survivors: string[] = []
try {
  const chosen = mutants.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)))
  for (const mutant of chosen) {
    const file = join(home, 'src', mutant.file)
    const source = readFileSync(file, 'utf8')
    const parts = source.split(mutant.find)
    if (parts.length !== 2) {
      survivors.push(`${mutant.name}: its text occurs ${parts.length - 1} times in ${mutant.file}`)
      continue
    }
    const already = failuresUnbroken(mutant)
    if (already.size > 0) console.log(`fails without any mutant: ${[...already].join('; ')}`)
    writeFileSync(file, parts.join(mutant.put))
    const began = performance.now()
    const killers = failures(home, mutant).filter((title) => !already.has(title))
    writeFileSync(file, source)
    const seconds = ((performance.now() - began) / 1_000).toFixed(0)
    console.log(`${killers.length === 0 ? 'SURVIVED' : 'killed  '} ${mutant.promise.padEnd(6)} ${mutant.name} (${seconds} s)${killers.length === 0 ? '' : `\n           by ${killers.length}, e.g. ${killers[0] ?? ''}`}`)
    if (killers.length === 0) survivors.push(mutant.name)
  }
  console.log(`${chosen.length - survivors.length} of ${chosen.length} killed`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const survivor of survivors) console.log(`not killed: ${survivor}`)
process.exitCode = survivors.length === 0 ? 0 : 1
