// Promises need one turn of the loop, however long their chain. More is for code that yields to the loop now and then.
const usualTurns = 5

/** Lets everything happen that needs no time: promises, and what yields to the event loop a few times. */
export async function settle(turns: number = usualTurns): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => { setImmediate(resolve) })
}
