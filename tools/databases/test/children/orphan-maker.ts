// Starts a child, freezes it, starts a PostgreSQL if it can, and waits to be killed.
import { privatePostgres, spawnNode } from '../../src/index.ts'

const child = spawnNode(new URL('./echo.ts', import.meta.url))
await child.line((line) => line.kind === 'tick', 10_000)
await child.freeze()
const postgres = await privatePostgres()
console.log(JSON.stringify({ kind: 'started', child: child.pid, ...(postgres.available ? { port: postgres.port, folder: postgres.folder } : {}) }))
setInterval(() => {}, 1_000)
