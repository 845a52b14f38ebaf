/**
 * State with a time to live. The state of an object expires as a whole when no exclusive handler and no edit has changed it for that time:
 * at that moment if no exclusive handler holds the object, otherwise when that handler ends, before the next one starts. The time begins
 * when the handler that changed the state ends, so state never disappears beneath a handler that runs or is suspended.
 *
 * Each object whose state expires has a row and a timer. The row is user state of a service that no deployment can have, under an id that
 * is derived from the object; the timer carries the id.
 */
import { fromUtf8, type InvocationId, idempotentInvocationId, invariant, utf8 } from "@perdure/base";
import type { SetStateTtl, TimerKey } from "../command.js";
import type { Invoked } from "../invocation.js";
import type { ObjectLock } from "../mutation.js";
import { isExclusive, keyspaceOf, parseKeyspace } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

/** Service of the rows. No name of a service has a colon. */
export const STATE_TTL_SERVICE = ":state-ttl";
/** State key of the row of an object. */
export const STATE_EXPIRY_ROW = "expiry";
/** Key under which each state key is a service of whose objects some have, or had, a time to live of their own. */
export const OWN_TTL_SERVICES_KEY = "services";

/** When the state of an object expires. `service` is the keyspace. */
export interface StateExpiry {
  readonly service: string;
  readonly key: string;
  /** Due time of the object's timer; a longer time to live that was set since moves it when it is due. */
  readonly expiresAtMs: number;
  /** End of the handler, or time of the edit, that changed the state last. */
  readonly changedAtMs: number;
  readonly ttlMs: number;
  /** Whether the time to live is the object's own rather than that of its service. It ends with the state. */
  readonly isOwn: boolean;
}

/** `never`: state of the service does not expire. `unknown`: the service was removed, and the stored times to live hold. */
export type ServiceTtl = number | "never" | "unknown";

/** What a leader has in memory about times to live, so that objects without one cost nothing. */
export interface StateTtls {
  /** Time to live of the state of each object of a service, as it is set now. */
  ofService(service: string): ServiceTtl;
  /** Whether objects of the service may have a time to live of their own. */
  hasOwn(service: string): boolean;
  /** No timer of state is due before this time, in milliseconds since 1970. */
  readonly dueFromMs: number;
}

/** The id that stands for an object in timers and names its row; it belongs to the object's partition. */
export function stateExpiryId(keyspace: string, key: string): InvocationId {
  return idempotentInvocationId({ ...parseKeyspace(keyspace), key, handler: STATE_TTL_SERVICE }, "");
}

/** A handler wrote state: when it ends, the time to live begins anew. */
export function noteStateChange(view: PartitionView, { facts: { target } }: Invoked, out: Transition): void {
  if (!isExclusive(target) || !mayExpire(view, target.service)) return;
  const service = keyspaceOf(target);
  const lock = view.lock(service, target.key);
  if (lock === undefined || lock.isStateChanged === true) return;
  out.mutate({ kind: "putLock", service, key: target.key, lock: { ...lock, isStateChanged: true } });
}

/** The holder of the lock ends: state that it changed lives on from now, and state that is due expires. */
export function settleExpiry(view: PartitionView, keyspace: string, key: string, lock: ObjectLock, out: Transition): void {
  if (lock.isStateChanged === true) return renewExpiry(view, keyspace, key, out);
  if (lock.isStateDue === true) return expireOrPutBack(view, keyspace, key, out);
  if (view.stateTtls.dueFromMs <= out.nowMs) expireIfDue(view, keyspace, key, out);
}

/** State was changed and no handler holds the object. */
export function renewExpiry(view: PartitionView, keyspace: string, key: string, out: Transition): void {
  const { service } = parseKeyspace(keyspace);
  if (!mayExpire(view, service)) return;
  const before = expiryOf(view, keyspace, key);
  const ttlMs = before?.isOwn === true ? before.ttlMs : ttlOfService(view, service, before);
  if (ttlMs === undefined) return deleteRow(before, out);
  put(before, { service: keyspace, key, changedAtMs: out.nowMs, ttlMs, isOwn: before?.isOwn === true }, out);
}

/** A handler is about to start. State that is due expires first, also when its timer has not fired yet. */
export function expireBeforeStart(view: PartitionView, keyspace: string, key: string, out: Transition): void {
  if (view.stateTtls.dueFromMs <= out.nowMs) expireIfDue(view, keyspace, key, out);
}

/** As `expireBeforeStart`, for a shared handler: an exclusive handler that holds the object keeps its state. */
export function expireBeforeShared(view: PartitionView, keyspace: string, key: string, out: Transition): void {
  if (view.stateTtls.dueFromMs > out.nowMs || view.lock(keyspace, key)?.holder !== undefined) return;
  expireIfDue(view, keyspace, key, out);
}

/** The timer of an object is due. While a handler holds the object, its lock notes that the state is due. */
export function fireStateTimer(view: PartitionView, timer: TimerKey, out: Transition): void {
  const expiry = readExpiry(view, timer.id);
  if (expiry === undefined || expiry.expiresAtMs !== timer.dueAtMs) return;
  const { service, key } = expiry;
  const lock = view.lock(service, key);
  if (lock?.holder === undefined) return expire(view, expiry, out);
  out.mutate({ kind: "putLock", service, key, lock: { ...lock, isStateDue: true } });
}

/** Gives one object a time to live of its own, or returns it to that of its service. The time begins now. */
export function setStateTtl(view: PartitionView, command: SetStateTtl, out: Transition): void {
  const { service: keyspace, key, ttlMs } = command;
  const { service } = parseKeyspace(keyspace);
  const before = expiryOf(view, keyspace, key);
  if (ttlMs !== undefined && !view.stateTtls.hasOwn(service)) {
    const row = { service: STATE_TTL_SERVICE, key: OWN_TTL_SERVICES_KEY, stateKey: service, value: NOTHING };
    out.mutate({ kind: "putState", ...row });
  }
  const present = ttlMs ?? ttlOfService(view, service, undefined);
  if (present === undefined) deleteRow(before, out);
  else put(before, { service: keyspace, key, changedAtMs: out.nowMs, ttlMs: present, isOwn: ttlMs !== undefined }, out);
  out.effect({ kind: "reply", answer: { kind: "done" } });
}

function mayExpire(view: PartitionView, service: string): boolean {
  return view.stateTtls.ofService(service) !== "never" || view.stateTtls.hasOwn(service);
}

function ttlOfService(view: PartitionView, service: string, before: StateExpiry | undefined): number | undefined {
  const ttl = view.stateTtls.ofService(service);
  if (ttl === "unknown") return before?.ttlMs;
  return ttl === "never" ? undefined : ttl;
}

/** The timer has fired already. By the clock of this leader, which may be behind that of the last one, it may not be due: it is put back. */
function expireOrPutBack(view: PartitionView, keyspace: string, key: string, out: Transition): void {
  const expiry = expiryOf(view, keyspace, key);
  if (expiry !== undefined) expire(view, expiry, out);
}

function expireIfDue(view: PartitionView, keyspace: string, key: string, out: Transition): void {
  const expiry = expiryOf(view, keyspace, key);
  if (expiry !== undefined && expiry.expiresAtMs <= out.nowMs) expire(view, expiry, out);
}

/** The due time has come. The time to live of the service may be longer by now, or none. */
function expire(view: PartitionView, expiry: StateExpiry, out: Transition): void {
  const { service, key, changedAtMs, isOwn } = expiry;
  const ttlMs = isOwn ? expiry.ttlMs : ttlOfService(view, parseKeyspace(service).service, expiry);
  if (ttlMs !== undefined && changedAtMs + ttlMs > out.nowMs) return put(expiry, { ...expiry, ttlMs }, out);
  if (ttlMs !== undefined) {
    const stateKeys = [...view.stateOf(service, key).keys()];
    for (const stateKey of stateKeys) out.mutate({ kind: "deleteState", service, key, stateKey });
    if (stateKeys.length > 0) out.effect({ kind: "stateExpired" });
  }
  deleteRow(expiry, out);
}

// ── the row: three numbers, whose time to live it is, the keyspace and the key as text, separated by spaces ──

export function decodeStateExpiry(row: Uint8Array): StateExpiry {
  const [expiresAtMs, changedAtMs, ttlMs, owner, service, ...key] = fromUtf8(row).split(" ");
  invariant(service !== undefined, "the row of an expiry names its object");
  return {
    service,
    key: key.join(" "),
    expiresAtMs: Number(expiresAtMs),
    changedAtMs: Number(changedAtMs),
    ttlMs: Number(ttlMs),
    isOwn: owner === "object",
  };
}

function encodeStateExpiry({ expiresAtMs, changedAtMs, ttlMs, isOwn, service, key }: StateExpiry): Uint8Array {
  return utf8([expiresAtMs, changedAtMs, ttlMs, isOwn ? "object" : "service", service, key].join(" "));
}

function expiryOf(view: PartitionView, keyspace: string, key: string): StateExpiry | undefined {
  return readExpiry(view, stateExpiryId(keyspace, key));
}

function readExpiry(view: PartitionView, id: InvocationId): StateExpiry | undefined {
  const row = view.state(STATE_TTL_SERVICE, id, STATE_EXPIRY_ROW);
  return row === undefined ? undefined : decodeStateExpiry(row);
}

function put(before: StateExpiry | undefined, next: Omit<StateExpiry, "expiresAtMs">, out: Transition): void {
  const expiry = { ...next, expiresAtMs: next.changedAtMs + next.ttlMs };
  const isMoved = before !== undefined && before.expiresAtMs !== expiry.expiresAtMs;
  if (isMoved) out.mutate({ kind: "deleteTimer", timer: stateTimer(before) });
  const timer = stateTimer(expiry);
  out.mutate({ kind: "putState", ...rowOf(timer.id), value: encodeStateExpiry(expiry) });
  out.mutate({ kind: "putTimer", timer });
  out.effect({ kind: "armTimer", timer });
}

function deleteRow(expiry: StateExpiry | undefined, out: Transition): void {
  if (expiry === undefined) return;
  const timer = stateTimer(expiry);
  out.mutate({ kind: "deleteState", ...rowOf(timer.id) });
  out.mutate({ kind: "deleteTimer", timer });
}

function rowOf(id: InvocationId): { readonly service: string; readonly key: string; readonly stateKey: string } {
  return { service: STATE_TTL_SERVICE, key: id, stateKey: STATE_EXPIRY_ROW };
}

/** The timer of an object whose state expires. */
export function stateTimer({ service, key, expiresAtMs }: StateExpiry): TimerKey {
  return { dueAtMs: expiresAtMs, kind: "expireState", id: stateExpiryId(service, key), sequence: 0 };
}

const NOTHING = new Uint8Array(0);
