/**
 * Throttled invocations: of the requests with one throttle key, at most `limit` run within a period that begins with the first of them. The
 * others are refused with the id of the newest one that runs; they never wait, since waiting is what the limits of scopes are for.
 *
 * The row of a key is user state of a service that no deployment can have, in the partition of the key, which is that of the invocations.
 * One batch stores the row together with the invocation that it counts, so a crash neither loses a place nor gives it away twice. A
 * refusal writes nothing. A timer deletes the row at the end of its period.
 *
 * The number of rows is a row too, so that a client with ever new keys cannot fill the store: beyond the bound, requests with a key that
 * has no row are refused. Running them unthrottled, or dropping the row of another key, would admit more than the limit.
 */
import { fromUtf8, type InvocationId, idempotentInvocationId, invariant, parseInvocationId, utf8 } from "@perdure/base";
import type { Invoke, Throttle, TimerKey } from "../command.js";
import type { Target } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

/** Service of the rows of throttle keys. No name of a service has a colon. */
export const THROTTLE_SERVICE = ":throttle";
export const THROTTLE_STATE_KEY = "period";

/** The row with the number of throttle keys of the partition; without it there are none. Its service is not that of the keys. */
export const THROTTLE_KEY_COUNT = { service: ":throttle-keys", key: "all", stateKey: "count" } as const;
/** Throttle keys of a partition by default: a row and a timer of a few hundred bytes each, so some tens of megabytes of its store. */
export const THROTTLE_KEYS_MAX = 100_000;

/** Timers of throttle keys have this number; those of objects have 0. */
const TIMER_SEQUENCE = 1;

/** What is stored of a throttle key. */
export interface ThrottlePeriod {
  readonly beganAtMs: number;
  readonly endsAtMs: number;
  /** As the newest request that runs had it. */
  readonly limit: number;
  readonly admittedCount: number;
  readonly newestId: InvocationId;
  readonly service: string;
  readonly handler: string;
  readonly scope: string | undefined;
  readonly objectKey: string | undefined;
  readonly throttleKey: string;
}

/** Key of the row, which names its timer too: the id that the target has with the throttle key as idempotency key. */
export function throttleRowId(target: Target, throttleKey: string): InvocationId {
  return idempotentInvocationId(target, throttleKey);
}

/**
 * Counts a new invocation and returns true, or refuses it. The clock is that of the partition. A period has the length that the present
 * request names, so a changed rule holds at once.
 */
export function admitThrottled(view: PartitionView, { id, facts, throttle }: Invoke, out: Transition): boolean {
  if (throttle === undefined) return true;
  const rowId = throttleRowId(facts.target, throttle.key);
  const before = periodOf(view, rowId);
  const isOver = before === undefined || before.beganAtMs + throttle.periodMs <= out.nowMs;
  if (!isOver && before.admittedCount >= throttle.limit) {
    const retryAtMs = before.beganAtMs + throttle.periodMs;
    const { newestId, admittedCount } = before;
    out.effect({ kind: "reply", answer: { kind: "throttled", newestId, admittedCount, retryAtMs } });
    return false;
  }
  if (before === undefined) {
    const count = throttleKeyCount(view);
    if (count >= view.throttleKeysMax) {
      out.effect({ kind: "reply", answer: { kind: "throttleKeysFull" } });
      return false;
    }
    putKeyCount(count + 1, out);
  }
  const beganAtMs = isOver ? out.nowMs : before.beganAtMs;
  const admittedCount = isOver ? 1 : before.admittedCount + 1;
  putPeriod(before, rowId, periodFor(facts.target, throttle, { beganAtMs, admittedCount, newestId: id }), out);
  return true;
}

/** The timer of a throttle key is due. The row has another one when its period was changed or a later one has begun. */
export function endThrottlePeriod(view: PartitionView, timer: TimerKey, out: Transition): void {
  const period = periodOf(view, timer.id);
  if (period?.endsAtMs !== timer.dueAtMs) return;
  out.mutate({ kind: "deleteState", ...rowOf(timer.id) });
  putKeyCount(throttleKeyCount(view) - 1, out);
}

/** Number of throttle keys that have a row. */
function throttleKeyCount(view: PartitionView): number {
  const { service, key, stateKey } = THROTTLE_KEY_COUNT;
  const row = view.state(service, key, stateKey);
  return row === undefined ? 0 : Number(fromUtf8(row));
}

function putKeyCount(count: number, out: Transition): void {
  if (count > 0) out.mutate({ kind: "putState", ...THROTTLE_KEY_COUNT, value: utf8(String(count)) });
  else out.mutate({ kind: "deleteState", ...THROTTLE_KEY_COUNT });
}

export function isThrottleTimer({ kind, sequence }: TimerKey): boolean {
  return kind === "expireState" && sequence === TIMER_SEQUENCE;
}

function periodFor(
  target: Target,
  { key, periodMs, limit }: Throttle,
  counted: Pick<ThrottlePeriod, "beganAtMs" | "admittedCount" | "newestId">,
): ThrottlePeriod {
  const { service, handler, scope, key: objectKey } = target;
  return { ...counted, endsAtMs: counted.beganAtMs + periodMs, limit, service, handler, scope, objectKey, throttleKey: key };
}

function putPeriod(before: ThrottlePeriod | undefined, rowId: InvocationId, period: ThrottlePeriod, out: Transition): void {
  out.mutate({ kind: "putState", ...rowOf(rowId), value: encodePeriod(period) });
  if (before?.endsAtMs === period.endsAtMs) return;
  if (before !== undefined) out.mutate({ kind: "deleteTimer", timer: timerOf(rowId, before) });
  const timer = timerOf(rowId, period);
  out.mutate({ kind: "putTimer", timer });
  out.effect({ kind: "armTimer", timer });
}

function timerOf(id: InvocationId, { endsAtMs }: ThrottlePeriod): TimerKey {
  return { dueAtMs: endsAtMs, kind: "expireState", id, sequence: TIMER_SEQUENCE };
}

function rowOf(id: InvocationId): { readonly service: string; readonly key: string; readonly stateKey: string } {
  return { service: THROTTLE_SERVICE, key: id, stateKey: THROTTLE_STATE_KEY };
}

function periodOf(view: PartitionView, rowId: InvocationId): ThrottlePeriod | undefined {
  const row = view.state(THROTTLE_SERVICE, rowId, THROTTLE_STATE_KEY);
  return row === undefined ? undefined : decodeThrottlePeriod(row);
}

// ── the row as lines of text; the key of the object is last, because it may contain anything ─────────

function encodePeriod(period: ThrottlePeriod): Uint8Array {
  const { beganAtMs, endsAtMs, limit, admittedCount, newestId, service, handler, scope, objectKey, throttleKey } = period;
  const lines = [beganAtMs, endsAtMs, limit, admittedCount, newestId, service, handler, scope ?? "", throttleKey];
  return utf8((objectKey === undefined ? lines : [...lines, objectKey]).join("\n"));
}

export function decodeThrottlePeriod(row: Uint8Array): ThrottlePeriod {
  const [beganAtMs, endsAtMs, limit, admittedCount, newestId, service, handler, scope, throttleKey, ...objectKey] =
    fromUtf8(row).split("\n");
  const id = parseInvocationId(newestId ?? "");
  invariant(
    id.ok && service !== undefined && handler !== undefined && throttleKey !== undefined,
    "the row of a throttle key is whole",
  );
  return {
    beganAtMs: Number(beganAtMs),
    endsAtMs: Number(endsAtMs),
    limit: Number(limit),
    admittedCount: Number(admittedCount),
    newestId: id.value,
    service,
    handler,
    scope: scope === "" ? undefined : scope,
    objectKey: objectKey.length === 0 ? undefined : objectKey.join("\n"),
    throttleKey,
  };
}
