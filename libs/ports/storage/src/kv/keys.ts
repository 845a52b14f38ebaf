/**
 * The rows of a partition and their keys:
 *
 *   pp e                          epoch of the leadership
 *   pp i <id>                     unfinished invocation       pp c <id>  completed invocation
 *   pp j <id><index>              journal entry               pp v <id><slot>  journal event
 *   pp s <service>\0<len>:<key><state key>                    user state, in protocol order
 *   pp l <service>\0<len>:<key>   object lock                 pp q <service>\0<len>:<key><seq>  inbox
 *   pp p <service>\0<len>:<key><name>                         workflow promise
 *   pp t <due><kind><id><seq>     precise timer               pp r <due>…  retention timer
 *   pp x <due>…                                               timer of state that expires
 *   pp o <seq>                    outbox                      pp d <producer>  dedup
 *   pp f b<name>                  bucket of a rate limit      pp f z<queue id> paused queue
 *
 * `pp` is the partition in two chars, `<id>` an invocation id without its constant prefix. Numbers that order rows are
 * fixed-width base 36.
 */
import { fromBinaryString, fromUtf8, type InvocationId, present, toBinaryString, utf8, type VqueueId } from "@perdure/base";
import type { TimerKey } from "@perdure/state-machine";
import { type TimerGroup, timerGroupOf } from "../partition-store.js";

const ID_PREFIX = "inv_1";
const INDEX_CHARS = 6;
const DUE_CHARS = 9; // 36^9 ms lie beyond the year 5000.
const SEQ_CHARS = 11;

const partitionPrefixes: string[] = [];
export function partitionPrefix(partition: number): string {
  const cached = partitionPrefixes[partition];
  if (cached !== undefined) return cached;
  const prefix = String.fromCharCode(48 + Math.floor(partition / 64), 48 + (partition % 64));
  partitionPrefixes[partition] = prefix;
  return prefix;
}

/** The partition of a row; undefined for the few rows before all partitions. */
export function partitionOfRow(key: string): number | undefined {
  const high = key.charCodeAt(0) - 48;
  return high < 0 ? undefined : high * 64 + key.charCodeAt(1) - 48;
}

const ASCII = /^[\x00-\x7f]*$/;
/** Converts any text to a string of chars 0–255. */
function narrow(text: string): string {
  return ASCII.test(text) ? text : toBinaryString(utf8(text));
}
function widen(text: string): string {
  return ASCII.test(text) ? text : fromUtf8(fromBinaryString(text));
}

function fixed(n: number, width: number): string {
  return n.toString(36).padStart(width, "0");
}

function idPart(id: InvocationId): string {
  return id.slice(ID_PREFIX.length);
}
const ID_CHARS = 33;

/** Times beyond the key's width count as the far end of time; before 1970 as 0. */
function dueKey(dueAtMs: number): string {
  return fixed(Math.min(Math.max(Math.trunc(dueAtMs), 0), 36 ** DUE_CHARS - 1), DUE_CHARS);
}

const idOf = (digits: string): InvocationId => (ID_PREFIX + digits) as InvocationId;

export const epochKey = (partition: number): string => `${partitionPrefix(partition)}e`;
export const unfinishedKey = (partition: number, id: InvocationId): string => `${partitionPrefix(partition)}i${idPart(id)}`;
export const completedKey = (partition: number, id: InvocationId): string => `${partitionPrefix(partition)}c${idPart(id)}`;
/** Whether a key is one of `completedKey`. */
export const isCompletedKey = (key: string): boolean => key.length === 3 + ID_CHARS && key[2] === "c";
export const entryKey = (partition: number, id: InvocationId, index: number): string =>
  `${partitionPrefix(partition)}j${idPart(id)}${fixed(index, INDEX_CHARS)}`;
/** Returns the id in the key of an invocation, unfinished or completed. */
export function parseInvocationKey(key: string): InvocationId {
  return idOf(key.slice(3));
}
export function parseEntryKey(key: string): { id: InvocationId; index: number } {
  const at = 3 + ID_CHARS;
  return { id: idOf(key.slice(3, at)), index: Number.parseInt(key.slice(at), 36) };
}
export const eventKey = (partition: number, id: InvocationId, slot: number): string =>
  `${partitionPrefix(partition)}v${idPart(id)}${fixed(slot, 2)}`;
export const dedupKey = (partition: number, producer: string): string => `${partitionPrefix(partition)}d${narrow(producer)}`;
export const outboxKey = (partition: number, seq: number): string => `${partitionPrefix(partition)}o${fixed(seq, SEQ_CHARS)}`;

function keyed(table: string, partition: number, service: string, key: string): string {
  const narrowKey = narrow(key);
  return `${partitionPrefix(partition)}${table}${service}\0${narrowKey.length}:${narrowKey}`;
}
export const lockKey = (partition: number, service: string, key: string): string => keyed("l", partition, service, key);
export const inboxKey = (partition: number, service: string, key: string, seq: number): string =>
  keyed("q", partition, service, key) + fixed(seq, SEQ_CHARS);
export const statePrefix = (partition: number, service: string, key: string): string => keyed("s", partition, service, key);
export const promisePrefix = (partition: number, service: string, key: string): string => keyed("p", partition, service, key);
export const promiseKey = (partition: number, service: string, key: string, name: string): string =>
  promisePrefix(partition, service, key) + narrow(name);
export const stateKeyOf = (partition: number, service: string, key: string, stateKey: string): string =>
  statePrefix(partition, service, key) + lengthPrefix(stateKey.length) + stateKey;

/** Protobuf varint of a length as chars: it gives state keys the order of the protocol. */
function lengthPrefix(length: number): string {
  let text = "";
  while (length > 127) {
    text += String.fromCharCode((length & 127) | 128);
    length >>>= 7;
  }
  return text + String.fromCharCode(length);
}

export const bucketKey = (partition: number, name: string): string => `${partitionPrefix(partition)}fb${name}`;
export const pauseKey = (partition: number, queue: VqueueId): string => `${partitionPrefix(partition)}fz${queue}`;

/** Returns the kind of a row of the `f` table, and its name. */
export function parseFlowKey(key: string): { readonly kind: "bucket" | "pause"; readonly name: string } {
  return { kind: key[3] === "b" ? "bucket" : "pause", name: key.slice(4) };
}

const TIMER_LETTER: Record<TimerKey["kind"], string> = {
  sleep: "s",
  start: "b",
  purge: "p",
  purgeJournal: "j",
  expireState: "x",
};
const TIMER_KIND: Record<string, TimerKey["kind"]> = {
  s: "sleep",
  b: "start",
  p: "purge",
  j: "purgeJournal",
  x: "expireState",
};
const TIMER_TABLE: Record<TimerGroup, string> = { precise: "t", retention: "r", state: "x" };

/** Returns the start of the timers of a group; its end is `after(timerTable)`. */
export const timerTable = (partition: number, group: TimerGroup): string => table(partition, TIMER_TABLE[group]);

export function timerKeyOf(partition: number, timer: TimerKey): string {
  return `${timerTable(partition, timerGroupOf(timer))}${dueKey(timer.dueAtMs)}${TIMER_LETTER[timer.kind]}${idPart(timer.id)}${fixed(timer.sequence, SEQ_CHARS)}`;
}

/** Returns the lower end of the timers of a group that are due at or after a time. */
export function timersFrom(partition: number, group: TimerGroup, dueAtMs: number): string {
  return `${timerTable(partition, group)}${dueKey(dueAtMs)}`;
}

export function parseTimerKey(key: string): TimerKey {
  const due = Number.parseInt(key.slice(3, 3 + DUE_CHARS), 36);
  const at = 3 + DUE_CHARS;
  return {
    dueAtMs: due,
    kind: present(TIMER_KIND[present(key[at])]),
    id: idOf(key.slice(at + 1, at + 1 + ID_CHARS)),
    sequence: Number.parseInt(key.slice(at + 1 + ID_CHARS), 36),
  };
}

/** Returns the start of a whole table of a partition; its end is `after(table)`. */
export function table(partition: number, letter: string): string {
  return partitionPrefix(partition) + letter;
}

/** Returns the least key greater than every key that begins with `prefix`. */
export function after(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}

/** Splits a key of a keyed table into service, key and rest. */
export function parseKeyed(key: string): { service: string; key: string; rest: string } {
  const zero = key.indexOf("\0", 3);
  const colon = key.indexOf(":", zero);
  const length = Number(key.slice(zero + 1, colon));
  return {
    service: key.slice(3, zero),
    key: widen(key.slice(colon + 1, colon + 1 + length)),
    rest: key.slice(colon + 1 + length),
  };
}

export function parseStateRest(rest: string): string {
  let at = 0;
  while (rest.charCodeAt(at) > 127) at++;
  return rest.slice(at + 1);
}
export const parsePromiseRest = widen;
export const parseSeqRest = (rest: string): number => Number.parseInt(rest, 36);
