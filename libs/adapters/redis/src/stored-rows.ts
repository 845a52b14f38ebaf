/** Reads of all rows of one kind of a partition, page by page. */
import { type InvocationId, present } from "@perdure/base";
import { type Invocation, parseKeyspace } from "@perdure/state-machine";
import {
  decodeInbox,
  decodeInvocation,
  decodeLock,
  type InboxRow,
  type LockRow,
  type Population,
  type PromiseRow,
  type StateRange,
  type StateRow,
  statusOf,
} from "@perdure/storage";
import { INLINE } from "./big-values.js";
import { fieldOf, promisesFrom, stateFrom } from "./fetch.js";
import { parseObjectName } from "./keys.js";
import type { RedisCommand } from "./link.js";
import { payloadsOf } from "./payloads.js";
import type { PartitionReads } from "./reads.js";
import { bytesReply, fieldsReply } from "./replies.js";
import { scanHash, scanObjects, scanValues } from "./scans.js";

/** Location of a partition's rows: the reads and the prefix of their keys. */
export interface PartitionRows {
  readonly reads: PartitionReads;
  /** Prefix of the partition's keys. */
  readonly prefix: string;
}

const ALL = (): boolean => true;

/** Unfinished invocations with a matching status byte, by the index of all that are not suspended. */
export async function* invocationsByStatus(
  { reads, prefix }: PartitionRows,
  matches: (row: Uint8Array) => boolean,
  counted?: Population,
): AsyncIterable<Invocation> {
  for await (const page of scanValues(reads, `${prefix}status`)) {
    if (counted !== undefined) for (const [, byte] of page) countStatus(statusOf(Uint8Array.of(Number(byte))), counted);
    const ids = page.filter(([, byte]) => matches(Uint8Array.of(Number(byte)))).map(([id]) => id);
    if (ids.length === 0) continue;
    const rows = fieldsReply(await reads.one(["HMGET", `${prefix}inv`, ...ids]));
    const cells = rows.map((stored, n) => ({ stored, again: ["HGET", `${prefix}inv`, present(ids[n])] as const }));
    for (const row of await payloadsOf(reads, prefix, cells)) if (row !== undefined && matches(row)) yield decodeInvocation(row);
  }
}

export async function* unfinishedInvocations(
  { reads, prefix }: PartitionRows,
  status: Invocation["status"] | undefined,
): AsyncIterable<Invocation> {
  if (status === "completed") return;
  if (status !== undefined && status !== "suspended") {
    yield* invocationsByStatus({ reads, prefix }, (row) => statusOf(row) === status);
    return;
  }
  // In rows of invocations the status is the first byte, right behind the tag.
  const matches = (stored: Buffer): boolean =>
    status === undefined || stored[0] !== INLINE || statusOf(stored.subarray(1)) === status;
  for await (const page of scanHash(reads, prefix, "inv", matches)) {
    for (const [, row] of page) if (status === undefined || statusOf(row) === status) yield decodeInvocation(row);
  }
}

/** The stored form of an invocation; undefined when it is not there. */
export async function storedInvocation({ reads, prefix }: PartitionRows, id: InvocationId): Promise<Uint8Array | undefined> {
  // In this order an invocation that completes in between is found in both places rather than in none.
  const commands = ["inv", "done"].map((table): RedisCommand => ["HGET", `${prefix}${table}`, id]);
  const replies = await reads.request(commands);
  const cells = commands.map((again, n) => ({ stored: bytesReply(present(replies[n])), again }));
  const [unfinished, done] = await payloadsOf(reads, prefix, cells);
  return unfinished ?? done;
}

export async function* stateRows(
  { reads, prefix }: PartitionRows,
  service: string | undefined,
  where: StateRange,
): AsyncIterable<StateRow> {
  const matches = (object: string): boolean => {
    if (service === undefined) return true;
    const keyspace = parseKeyspace(parseObjectName(object).service);
    return keyspace.service === service && (where === "everywhere" || keyspace.scope !== undefined);
  };
  for await (const { object, cells, payloads } of scanObjects(reads, prefix, "s", matches)) {
    const parsed = parseObjectName(object);
    for (const [stateKey, value] of stateFrom(cells, payloads))
      yield { service: parsed.service, key: parsed.key, stateKey, value };
  }
}

export async function* promiseRows({ reads, prefix }: PartitionRows): AsyncIterable<PromiseRow> {
  for await (const { object, cells, payloads } of scanObjects(reads, prefix, "p", ALL)) {
    const { service, key } = parseObjectName(object);
    for (const [name, promise] of promisesFrom(cells, payloads)) yield { service, key, name, promise };
  }
}

export async function* lockRows({ reads, prefix }: PartitionRows): AsyncIterable<LockRow> {
  for await (const page of scanHash(reads, prefix, "lock")) {
    for (const [object, row] of page) {
      const { service, key } = parseObjectName(object.toString());
      yield { service, key, lock: decodeLock(row) };
    }
  }
}

export async function* inboxRows({ reads, prefix }: PartitionRows): AsyncIterable<InboxRow> {
  for await (const { object, cells, payloads } of scanObjects(reads, prefix, "q", ALL)) {
    const { service, key } = parseObjectName(object);
    const rows: InboxRow[] = [];
    for (const [n, cell] of cells.entries()) {
      const row = payloads[n];
      if (row !== undefined) rows.push({ service, key, seq: Number(fieldOf(cell)), entry: decodeInbox(row) });
    }
    yield* rows.sort((a, b) => a.seq - b.seq);
  }
}

function countStatus(status: Invocation["status"] | undefined, counted: Population): void {
  if (status !== undefined && status !== "completed") counted[status]++;
}
