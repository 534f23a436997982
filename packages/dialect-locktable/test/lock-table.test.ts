import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { leaseMs } from './support/ground.ts'
import { freshName, onPlace } from './support/on-place.ts'
import { describePlaces } from './support/places.ts'

describePlaces('the lock table', (place) => {
  const ground = onPlace(place)
  afterEach(() => ground().destroyAll())

  it('P2: grants a free name and refuses it to everybody else, the same connection included', async () => {
    const [one, two] = [await ground().connect(), await ground().connect()]
    const name = freshName()
    const held = await ground().take(one, name)
    expect(await ground().try(two, name)).toEqual({ status: 'refused' })
    expect(await ground().try(one, name)).toEqual({ status: 'refused' })
    expect(await ground().try(one, name, { owner: held.owner })).toEqual({ status: 'refused' })
    expect(await ground().source.strategy.isHeld(two, held)).toBe('mine')
  })

  it('P4, P7: a stale owner can neither release nor renew, whatever it knows of the present holder', async () => {
    const { strategy } = ground().source
    const connection = await ground().connect()
    const name = freshName()
    const stale = await ground().take(connection, name)
    await strategy.release(connection, stale)
    const present = await ground().take(connection, name)

    const impostors = [stale, { ...stale, fencingToken: present.fencingToken }, { ...present, fencingToken: stale.fencingToken }, { ...stale, fencingToken: undefined }]
    for (const impostor of impostors) {
      expect(await strategy.refresh(connection, [impostor], leaseMs)).toEqual({ lost: [impostor.owner] })
      expect(await strategy.release(connection, impostor)).toEqual({ status: 'not-held' })
      expect(await strategy.isHeld(connection, impostor)).toBe('other')
    }
    expect(await strategy.isHeld(connection, present)).toBe('mine')
    expect(await strategy.release(connection, present)).toEqual({ status: 'released' })
    expect(await strategy.release(connection, present)).toEqual({ status: 'not-held' })
  })

  it('P4: an owner whose grant was never answered is known by its owner alone', async () => {
    const { strategy } = ground().source
    const connection = await ground().connect()
    const unanswered = { ...await ground().take(connection, freshName()), fencingToken: undefined }
    expect(await strategy.isHeld(connection, unanswered)).toBe('mine')
    expect(await strategy.refresh(connection, [unanswered], leaseMs)).toEqual({ lost: [] })
    expect(await strategy.release(connection, unanswered)).toEqual({ status: 'released' })
  })

  it('P7: every grant of a name has a larger token, however fast they follow each other', async () => {
    const connection = await ground().connect()
    const name = freshName()
    const tokens: number[] = []
    for (let round = 0; round < 30; round += 1) {
      const held = await ground().take(connection, name)
      tokens.push(held.fencingToken)
      await ground().source.strategy.release(connection, held)
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  })

  it('P7: the token grows past one that is ahead of the clock, and does not start again after a purge', async () => {
    const connection = await ground().connect()
    const [ahead, purged] = [freshName(), freshName()]
    const session = await ground().session()
    const forget = async (text: string): Promise<void> => { await session.run({ text, params: [] }) }
    const first = await ground().take(connection, ahead)
    await ground().source.strategy.release(connection, first)
    const rowsOf = ground().tables.locks
    await forget(`UPDATE ${rowsOf} SET fencing_token = fencing_token + 86400000 WHERE lock_owner IS NULL`)
    expect((await ground().take(connection, ahead)).fencingToken).toBe(first.fencingToken + 86_400_001)

    const before = await ground().take(connection, purged)
    await forget(`DELETE FROM ${rowsOf} WHERE lock_owner IS NOT NULL`)
    await sleep(2)
    expect((await ground().take(connection, purged)).fencingToken).toBeGreaterThan(before.fencingToken)
  })

  it('P6, P7: an expired lease is taken over with a larger token, and its old holder changes nothing any more', async () => {
    const { strategy } = ground().source
    const [old, successor] = [await ground().connect(), await ground().connect()]
    const name = freshName()
    const dead = await ground().take(old, name, { leaseMs: 80 })
    await sleep(100)
    const alive = await ground().take(successor, name)
    expect(alive.fencingToken).toBeGreaterThan(dead.fencingToken)
    expect(await strategy.refresh(old, [dead], leaseMs)).toEqual({ lost: [dead.owner] })
    expect(await strategy.release(old, dead)).toEqual({ status: 'not-held' })
    expect(await strategy.inspect(old, name)).toMatchObject({ owner: alive.owner })
  })

  it('P5: a renewal never revives an expired lease, even when nobody has taken it', async () => {
    const { strategy } = ground().source
    const connection = await ground().connect()
    const name = freshName()
    const held = await ground().take(connection, name, { leaseMs: 60 })
    await sleep(80)
    expect(await strategy.refresh(connection, [held], leaseMs)).toEqual({ lost: [held.owner] })
    expect(await strategy.isHeld(connection, held)).toBe('free')
    expect(await strategy.inspect(connection, name)).toBeNull()
    expect(await strategy.release(connection, held)).toEqual({ status: 'not-held' })
  })

  it('P5: a renewal keeps a lease beyond its first end, without a new token', async () => {
    const { strategy } = ground().source
    const connection = await ground().connect()
    const held = await ground().take(connection, freshName(), { leaseMs: 2_500 })
    for (let beat = 0; beat < 4; beat += 1) {
      await sleep(700)
      expect(await strategy.refresh(connection, [held], 2_500)).toEqual({ lost: [] })
    }
    expect(await strategy.inspect(connection, held.name)).toMatchObject({ owner: held.owner, fencingToken: held.fencingToken })
  })

  it('P12: many leases are renewed together, and exactly those that are gone are answered', async () => {
    const { strategy } = ground().source
    const connection = await ground().connect()
    const held = []
    for (let count = 0; count < 230; count += 1) held.push(await ground().take(connection, freshName('many')))
    expect(await strategy.refresh(connection, held, leaseMs)).toEqual({ lost: [] })
    const gone = [held[0]!, held[99]!, held[100]!, held[229]!]
    for (const holding of gone) await strategy.release(connection, holding)
    expect((await strategy.refresh(connection, held, leaseMs)).lost).toEqual(gone.map(({ owner }) => owner))
    expect(await strategy.refresh(connection, [], leaseMs)).toEqual({ lost: [] })
  })

  it('P4: neighbours are untouched by everything that is done to a name', async () => {
    const { strategy } = ground().source
    const connection = await ground().connect()
    const [before, middle, after] = [freshName('a'), freshName('b'), freshName('c')]
    await ground().take(connection, before)
    await ground().take(connection, after, { leaseMs: 1 })
    const neighbours = async (): Promise<unknown> => (await ground().rows()).filter((row) => !String(row['lock_name']).includes(middle.name))
    const untouched = await neighbours()
    const held = await ground().take(connection, middle)
    await ground().try(connection, middle)
    await strategy.refresh(connection, [held], leaseMs)
    await strategy.release(connection, held)
    await ground().take(connection, middle, { leaseMs: 1 })
    expect(await neighbours()).toEqual(untouched)
  })

  it('P7: a release keeps the row and its token', async () => {
    const connection = await ground().connect()
    const held = await ground().take(connection, freshName())
    const rowOf = async (): Promise<unknown> => (await ground().rows()).find((row) => String(row['lock_name']).endsWith(held.name.name))
    expect(await rowOf()).toMatchObject({ lock_owner: held.owner, owner_label: 'here:1', fencing_token: held.fencingToken })
    await ground().source.strategy.release(connection, held)
    expect(await rowOf()).toMatchObject({ lock_owner: null, owner_label: null, fencing_token: held.fencingToken })
  })

  it('P9: says who holds it, since when and until when, by the database clock', async () => {
    const connection = await ground().connect()
    const name = freshName()
    expect(await ground().source.strategy.inspect(connection, name)).toBeNull()
    const held = await ground().take(connection, name, { ownerLabel: 'host-1:4711' })
    const holder = await ground().source.strategy.inspect(connection, name)
    const { sinceAt, expiresAt, ...who } = holder!
    expect(who).toEqual({ owner: held.owner, ownerLabel: 'host-1:4711', fencingToken: held.fencingToken })
    // Some products read their clock anew for each column of a statement.
    expect(Math.abs(expiresAt! - sinceAt! - leaseMs)).toBeLessThan(1_000)
    const { rows } = await connection.sql.run({ text: `SELECT ${ground().dialect.store!.sql.nowMs} AS now_ms`, params: [] })
    expect((rows[0]!['now_ms'] as number) - sinceAt!).toBeLessThan(20_000)
    expect((rows[0]!['now_ms'] as number) - sinceAt!).toBeGreaterThanOrEqual(0)
  })

  it('counts what is held under a label, that of an owner as well as that of a session', async () => {
    const { diagnostics } = ground().source
    const connection = await ground().connect()
    const held = await ground().take(connection, freshName(), { ownerLabel: 'counted:1' })
    await ground().take(connection, freshName(), { ownerLabel: 'counted:1' })
    const count = (label: string): Promise<number> => diagnostics!.locks(connection, label)
    expect(await count('counted:1')).toBe(2)
    expect(await count('sched:tests:counted:1')).toBe(2)
    expect(await count('sched:others:counted:1')).toBe(0)
    await ground().source.strategy.release(connection, held)
    expect(await count('counted:1')).toBe(1)
  })

  it('an overlong or empty label does not stop a lock', async () => {
    const connection = await ground().connect()
    const long = await ground().take(connection, freshName(), { ownerLabel: '😀'.repeat(300) })
    expect(await ground().source.strategy.inspect(connection, long.name)).toMatchObject({ ownerLabel: '😀'.repeat(190) })
    const none = await ground().take(connection, freshName(), { ownerLabel: '' })
    expect(await ground().source.strategy.inspect(connection, none.name)).not.toHaveProperty('ownerLabel')
  })

  it('behind a transaction pooler every statement travels in a transaction that is over when the call is', async () => {
    const { strategy } = ground().source
    const pooled = await ground().connect({ sharedSessions: true })
    const name = freshName()
    const held = await ground().take(pooled, name)
    expect(await ground().try(pooled, name)).toEqual({ status: 'refused' })
    expect(await strategy.refresh(pooled, [held], leaseMs)).toEqual({ lost: [] })
    expect(await strategy.isHeld(await ground().connect(), held)).toBe('mine')
    expect(await strategy.release(pooled, held)).toEqual({ status: 'released' })
    await pooled.sql.begin() // would fail inside a transaction
    await pooled.sql.rollback()
  })
})

describePlaces('without the lock table', (place) => {
  const ground = onPlace(place)

  it.each([false, true])('P10: nothing is refused or lost, everything rejects as missing-table (shared sessions: %s)', async (sharedSessions) => {
    const { source, source: { strategy } } = ground()
    const connection = await ground().connect({ sharedSessions })
    const session = await ground().session()
    const name = freshName()
    const held = await ground().take(connection, name)
    await session.run({ text: `DROP TABLE ${ground().tables.locks}`, params: [] })
    const calls = [
      () => ground().try(connection, name), () => ground().try(connection, freshName()), () => strategy.refresh(connection, [held], leaseMs),
      () => strategy.release(connection, held), () => strategy.isHeld(connection, held), () => strategy.inspect(connection, name),
    ]
    for (const call of calls) {
      const outcome = await call().then((value: unknown) => ({ value }), (error: unknown) => ({ errorClass: source.classify(error) }))
      expect(outcome).toEqual({ errorClass: 'missing-table' })
    }
    await ground().createLockTable()
    expect(await ground().try(connection, name)).toMatchObject({ status: 'granted' })
  })
})
