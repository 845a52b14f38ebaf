/**
 * The keys of a partition, all under the hash tag `{<environment>:<partition>}`, so that a cluster keeps them on one node, after the
 * prefix that all keys of a shared server have:
 *
 *   epoch          hash    epoch, number of the last batch, and format; name of the last claim; count of all actions;
 *                          `mark` of the data set that the partition belongs to (`data-set.ts`)
 *   lease          string  worker that holds the lease; expires with it
 *   inv            hash    id → unfinished invocation
 *   status         hash    id → status byte of unfinished invocations that are not suspended; a new leader reads them
 *   done           hash    id → completed invocation              done:at  sorted set of them by the time of completion
 *   j:<id>         stream  journal; entry `<index>-1` (Redis refuses `0-0`), so that no index is ever appended twice
 *   ev:<id>        hash    slot → journal event
 *   s:<object>     hash    state key → user state                 s        set of the objects that have state
 *   q:<object>     hash    seq → inbox entry                      q        the same
 *   p:<object>     hash    name → workflow promise                p        the same
 *   lock           hash    object → lock
 *   t  r  x        sorted set  precise and retention timers by due time, and those of state that expires
 *   out            hash    seq → outbox message                   out:at   sorted set of their sequences
 *   dedup          hash    producer → sequence                    bucket, pause  hashes of flow control
 *   big            hash    chunk set → row of the payload         big:<set>:<n>  string, a chunk of a large payload
 *
 * `<object>` is `<service>/<key>`. Values of rows begin with a byte that distinguishes a payload from a chunk set (`big-values.ts`).
 */
import { type InvocationId, PerdureError } from "@perdure/base";
import type { TimerKey } from "@perdure/state-machine";

/** Version of this layout; a partition of another is not touched. */
export const FORMAT = "1";

const ENVIRONMENT = /^[A-Za-z0-9._-]{1,128}$/;

/** Prefix of all keys of a server; may be empty. */
interface KeyPrefixed {
  readonly keyPrefix: string;
}

/** Prefix of all keys of a partition. Throws OPS0001 when the environment's name cannot be part of a key. */
export function partitionPrefix({ keyPrefix }: KeyPrefixed, environment: string, partition: number): string {
  return `${keyPrefix}{${checkedEnvironment(environment)}:${partition}}:`;
}

/** Prefix of keys that belong to the environment as a whole. */
export function environmentPrefix({ keyPrefix }: KeyPrefixed, environment: string): string {
  return `${keyPrefix}{${checkedEnvironment(environment)}}:`;
}

function checkedEnvironment(environment: string): string {
  if (ENVIRONMENT.test(environment)) return environment;
  throw new PerdureError("OPS0001", "an environment's name has only letters or digits, dots, dashes and underscores");
}

/** Services have no slash in their names; if one ever has, it is escaped. */
export function objectName(service: string, key: string): string {
  return /[/%]/.test(service) ? `${encodeURIComponent(service)}/${key}` : `${service}/${key}`;
}

export function parseObjectName(object: string): { readonly service: string; readonly key: string } {
  const slash = object.indexOf("/");
  const service = object.slice(0, slash);
  return { service: service.includes("%") ? decodeURIComponent(service) : service, key: object.slice(slash + 1) };
}

// ── timers ───────────────────────────────────────────────────────────────────────────────────────

const LETTERS: Record<TimerKey["kind"], string> = {
  sleep: "s",
  start: "b",
  purge: "p",
  purgeJournal: "j",
  expireState: "x",
};
const KINDS: Readonly<Record<string, TimerKey["kind"]>> = {
  s: "sleep",
  b: "start",
  p: "purge",
  j: "purgeJournal",
  x: "expireState",
};

/** Sorted set of each group of timers. */
export const TIMER_SETS = { precise: "t", retention: "r", state: "x" } as const;
export type TimerSet = (typeof TIMER_SETS)[keyof typeof TIMER_SETS];
const ID_PREFIX = "inv_1";
const ID_CHARS = 33;
const WORD = 2 ** 32;
const HALF = 2 ** 31;

/**
 * Member of a timer in its sorted set, a binary string: the due time as eight bytes in sort order, then the parts that make the timer
 * unique.
 */
export function timerMember(timer: TimerKey): string {
  const high = Math.floor(timer.dueAtMs / WORD);
  const sequence = timer.sequence.toString(36);
  return `${word(high + HALF)}${word(timer.dueAtMs - high * WORD)}${LETTERS[timer.kind]}${timer.id.slice(ID_PREFIX.length)}${sequence}`;
}

export function parseTimerMember(member: string): TimerKey {
  const at = 8;
  return {
    dueAtMs: (readWord(member, 0) - HALF) * WORD + readWord(member, 4),
    kind: KINDS[member.charAt(at)] as TimerKey["kind"],
    id: (ID_PREFIX + member.slice(at + 1, at + 1 + ID_CHARS)) as InvocationId,
    sequence: Number.parseInt(member.slice(at + 1 + ID_CHARS), 36),
  };
}

function word(n: number): string {
  return String.fromCharCode((n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255);
}

function readWord(text: string, at: number): number {
  return (
    text.charCodeAt(at) * 0x100_0000 +
    ((text.charCodeAt(at + 1) << 16) | (text.charCodeAt(at + 2) << 8) | text.charCodeAt(at + 3))
  );
}
