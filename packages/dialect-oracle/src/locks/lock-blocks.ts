import type { PlSqlBlock } from '../session/plsql.ts'
import { sessionMark } from '../session/session-settings.ts'
import { nowMs } from '../store/fragments.ts'

// DBMS_LOCK: https://docs.oracle.com/en/database/oracle/oracle-database/23/arpls/DBMS_LOCK.html
// Always named notation: REQUEST and RELEASE are overloaded on the number and the handle of a lock. The package's constants are not
// visible outside PL/SQL of the server, so 6 stands for X_MODE.

/** What a lock is asked for with. */
export interface LockCall {
  /** At most 128 characters, not beginning with ORA$. */
  readonly lockName: string
  /** The session that must run it. */
  readonly mark: string
  /** ALLOCATE_UNIQUE_AUTONOMOUS is there. */
  readonly autonomous: boolean
}

/** A name's number is kept for at least this long after it was last asked for (the default, said aloud: renewal relies on it). */
export const mappingSeconds = 864_000
// MAXWAIT, 32767, is "for ever"; one less is the longest wait that ends.
const longestWait = 32_766

/** Beside the statuses of DBMS_LOCK: the block ran on another session and did nothing. */
export const elsewhere = -1

interface BlockParts extends Partial<Pick<PlSqlBlock, 'binds' | 'out'>> { readonly variables?: string }

/**
 * Every block finds the name's number anew: a handle that was kept may belong to a mapping that has expired, and then two sessions
 * hold "the" lock under two numbers. Where there is no autonomous variant the allocation commits, on a session of ours that carries
 * no transaction then.
 */
function block({ lockName, mark, autonomous }: LockCall, body: string, more: BlockParts = {}): PlSqlBlock {
  return {
    text: `DECLARE
  handle VARCHAR2(128);
  status INTEGER := ${elsewhere};${more.variables === undefined ? '' : `\n  ${more.variables}`}
BEGIN
  IF ${sessionMark} = :session_mark THEN
    SYS.DBMS_LOCK.${autonomous ? 'ALLOCATE_UNIQUE_AUTONOMOUS' : 'ALLOCATE_UNIQUE'}(lockname => :lock_name, lockhandle => handle, expiration_secs => ${mappingSeconds});
${body}
  END IF;
  :status := status;
END;`,
    binds: { session_mark: mark, lock_name: lockName, ...more.binds },
    out: { status: 'number', ...more.out },
  }
}

const request = (timeout: string): string => `status := SYS.DBMS_LOCK.REQUEST(lockhandle => handle, lockmode => 6, timeout => ${timeout}, release_on_commit => FALSE);`
const readClock = `SELECT ${nowMs} INTO :db_now FROM DUAL;`

/** One try. */
export function tryBlock(call: LockCall): PlSqlBlock {
  return block(call, `    ${request('0')}\n    ${readClock}`, { out: { db_now: 'number' } })
}

/**
 * Waits in the server's queue for the whole seconds; REQUEST knows no shorter time. The rest is slept through in twentieths of a
 * second with a try after each: out of the queue, so that a waiter in it comes first.
 */
export function waitBlock(call: LockCall, waitMs: number): PlSqlBlock {
  const seconds = Math.min(longestWait, Math.floor(waitMs / 1_000))
  const rest = Math.min(999, Math.ceil(waitMs - seconds * 1_000))
  return block(call, `    ${request(':wait_seconds')}
    rest := :wait_rest;
    WHILE status = 1 AND rest > 0 LOOP
      SYS.DBMS_LOCK.SLEEP(seconds => LEAST(rest, 50) / 1000);
      rest := rest - 50;
      ${request('0')}
    END LOOP;
    ${readClock}`, { variables: 'rest INTEGER;', binds: { wait_seconds: seconds, wait_rest: rest }, out: { db_now: 'number' } })
}

/** `status` of RELEASE. */
export function releaseBlock(call: LockCall): PlSqlBlock {
  return block(call, '    status := SYS.DBMS_LOCK.RELEASE(lockhandle => handle);')
}

/**
 * Who has it, by asking for it: 4 this session, 1 another, 0 nobody. In the last case it has just been taken and is given back at once;
 * for that moment a try of somebody else is refused.
 */
export function heldBlock(call: LockCall): PlSqlBlock {
  return block(call, `    ${request('0')}
    IF status = 0 THEN
      :released := SYS.DBMS_LOCK.RELEASE(lockhandle => handle);
    END IF;
    ${readClock}`, { out: { released: 'number', db_now: 'number' } })
}

/** The name's handle, for the views: its first ten digits are the lock's number. */
export function handleBlock(call: LockCall): PlSqlBlock {
  return block(call, '    status := 0;\n    :handle := handle;', { out: { handle: 'text' } })
}

/** Proves the session, and reads the clock. */
export function sameSessionBlock(mark: string): PlSqlBlock {
  return {
    text: `BEGIN
  :status := CASE WHEN ${sessionMark} = :session_mark THEN 0 ELSE ${elsewhere} END;
  ${readClock}
END;`,
    binds: { session_mark: mark },
    out: { status: 'number', db_now: 'number' },
  }
}

/** 1 where the package has the procedure. https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/ALL_PROCEDURES.html */
export const autonomousBlock: PlSqlBlock = {
  text: `BEGIN
  SELECT COUNT(*) INTO :autonomous FROM ALL_PROCEDURES WHERE owner = 'SYS' AND object_name = 'DBMS_LOCK' AND procedure_name = 'ALLOCATE_UNIQUE_AUTONOMOUS';
END;`,
  binds: {},
  out: { autonomous: 'number' },
}

/** Compiles only for whom the package is: nothing in it is run. */
export const privilegeBlock: PlSqlBlock = {
  text: `DECLARE
  status INTEGER;
BEGIN
  IF 1 = 0 THEN
    status := SYS.DBMS_LOCK.RELEASE(id => 0);
  END IF;
END;`,
  binds: {},
  out: {},
}
