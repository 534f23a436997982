/**
 * The sentences of the promises (design, section 2) as far as they concern what exists, and words of the test titles that keep
 * each. A sentence without a test is a failure; so is a title that keeps no promise.
 */
export const sentences: Readonly<Record<string, readonly (readonly [sentence: string, titles: readonly RegExp[]])[]>> = {
  P1: [
    ['One ledger row per task and fire time', [/twenty claims of one fire time/, /one ledger row and one start per fire time/, /killed every five seconds/]],
    ['and at most one first start, whatever the clock skew between instances, however short the task', [/clocks 3 s ahead and 3 s behind/, /ten starts of one execution/]],
    ['Fire times are computed from the schedule, never from now()', [/claims nothing before its time/, /stepping back a little loses no fire time/]],
    ['Further attempts come only by retry or recovery, each with a larger token, never while another\'s lease is valid', [/each attempt has a larger token/, /recovered under a larger token/, /what a live node runs is left alone/]],
  ],
  P2: [
    ['while a run\'s lease is valid no other run of the task starts', [/no run of a task starts while another has not ended/, /while the gate is taken nothing of the task starts/, /ignores its signal ends in the ledger, and keeps its gate/]],
    ['a lease is taken over only after its holder\'s signal had to be aborted', [/has its signal aborted before its successor starts/]],
  ],
  P3: [
    ['A lock and its release travel on one physical session', [/locks travel with their session and are given back there/]],
    ['on doubt about the session it is destroyed', [/a veto lost with its session aborts the run/]],
  ],
  P4: [
    ['Only the owner releases, renews or finishes', [/nobody finishes with a foreign owner/, /is cleared by its owner only/]],
    ['Owners are random per acquisition or attempt, never a host name alone', [/owner of every attempt is random/]],
  ],
  P5: [
    ['Every look at it is judged at that moment', [/reads its signal as aborted at its first look/, /blocked the event loop for three leases reads its signal as aborted at once/]],
    ['release, refresh, finish and ctx.* too', [/no transaction commits once the lease is over/, /nothing is begun under a lease that is over/]],
    ['the abort event follows as soon as the loop turns', [/abort event comes by itself/]],
  ],
  P6: [
    ['A dead holder is replaced within lease + heartbeat of its last renewal', [/killed with SIGKILL is replaced within lease \+ heartbeat/, /killed every five seconds/]],
    ['its execution recovered, retried or failed as configured', [/recovery "fail"/, /gives the execution of a dead node to whoever comes/, /ends as poison/]],
    ['inside an open transaction, plus the server\'s idle limit', [/frozen inside ctx\.transaction after its last statement/, /reports a locked row, goes on/]],
    ['on SQLite a process frozen inside a write transaction stops every writer', [/frozen inside a write transaction on SQLite/]],
    ['A hung handler ends by timeoutMs', [/runs too long has its signal aborted and fails/]],
    ['Nothing stays running for ever', [/whatever befalls any one of its statements/, /R3 recovers a running row/, /nothing left running/]],
  ],
  P7: [
    ['Every execution carries a token that only grows', [/tokens of a task only grow/]],
    ['every change of a running execution names id, owner, token and state', [/a finish under another %s changes nothing/, /recovery does not touch a row whose %s has changed/, /changes a row only where the table allows it/]],
    ['A zombie\'s write changes 0 rows and is reported', [/finishes all the same changes nothing and is reported as fenced/]],
    ['a lost answer is read back before anything is called fenced', [/done and never called fenced/, /answer was lost for longer than the lease is read back/, /the read-back waits for an old transaction/]],
  ],
  P8: [
    ['the task\'s own writes and the transition to succeeded in one transaction', [/writes and its success are committed together/]],
    ['guarded by owner and token: both commit, or neither', [/zombie's transaction commits nothing/, /when fn throws neither/, /whose COMMIT was done but not answered/, /whose COMMIT never arrived/, /close a thousand orders/]],
  ],
  P9: [
    ['The database\'s clock is the only clock for leases, expiry and recovery', [/not due by the database's clock does not start/, /jumping further than the margin ends all leases/]],
    ['nodes measure their offset to it and fire by it', [/clock is ahead claims nothing before its time/, /clocks 3 s ahead/, /clocks depart by %i millionths/]],
    ['no Date is bound to a statement', [/no Date is bound/]],
  ],
  P10: [
    ['Contention is a normal result', [/who loses one says nothing, and the server logs no error/, /twenty claims of one fire time/, /meets a locked task row takes it for busy/]],
    ['everything else is a typed error with a code, a retryable flag and a remedy', [/table dropped while running is a typed error/, /%s is %s, naming the value/]],
    ['A database that is down is never reported as "not acquired"', [/refuses connections for 20 s/, /server that is down is unreachable/]],
  ],
  P11: [
    ['Unsafe set-ups are refused at start-up with the reason and the way out', [/with the veto turned on by hand it is refused/, /read-only database is refused/, /through a transaction pooler the scheduler works with the ledger alone/]],
  ],
  P12: [
    ['Nothing due: one transaction per node and heartbeat, no polling', [/idle node costs one transaction per heartbeat/, /announces the nearest due row/]],
    ['Connections per node: one for heartbeat and try-locks, one for the store', [/they share the heartbeat's connection/]],
    ['one per open ctx.transaction; however many locks are held', [/one connection more per open ctx\.transaction, and none per lock/]],
  ],
}
