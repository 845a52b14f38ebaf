/** Iterates over stored invocations for several tables: where they are, and how few a statement needs. */
import { hashString, type InvocationId, parseInvocationId, partitionOf, partitionOfKey } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { statusOf } from "@perdure/storage";
import { readAhead } from "../ahead.js";
import type { CompletedFill } from "../completed/cache.js";
import type { CompletedRows } from "../completed/rows.js";
import { IDS_AT_ONCE, LIMIT_AHEAD_MIN, RANGES_AHEAD, STORE_PAGE_ROWS } from "../limits.js";
import type { IntrospectionSource } from "../ports.js";
import { allowedValues, type ScanHints } from "../query/hints.js";

type StoredStatus = Invocation["status"];

const UNFINISHED: readonly StoredStatus[] = ["scheduled", "inboxed", "ready", "invoked", "suspended", "paused"];

/**
 * Rows of the stored invocations whose status the statement needs, many at a time: by id where the statement names ids (column `id`),
 * otherwise the unfinished and the completed of each needed partition, each only if needed. `isJournalNext`: the caller reads the
 * journal of each row.
 */
export async function* findInvocations(
  source: IntrospectionSource,
  hints: ScanHints,
  isNeeded: (status: StoredStatus) => boolean,
  isJournalNext = false,
): AsyncIterable<readonly Uint8Array[]> {
  const ids = neededIds(hints);
  if (ids !== undefined) {
    const rows = await byId(source, ids, isNeeded, isJournalNext);
    if (rows.length > 0) yield rows;
    return;
  }
  const completed = isNeeded("completed") ? await completedRows(source, hints) : undefined;
  if (completed !== undefined) {
    yield* fromStore(source, hints, (status) => status !== "completed" && isNeeded(status));
    yield* pagesOf(completed);
  } else yield* fromStore(source, hints, isNeeded);
}

/** The completed invocations of a statement that needs those of all partitions, when the process keeps them. */
export async function completedRows(source: IntrospectionSource, hints: ScanHints): Promise<CompletedRows | undefined> {
  return source.completed !== undefined && needsAllPartitions(hints) ? await source.completed.rows() : undefined;
}

async function* pagesOf(rows: CompletedRows): AsyncIterable<readonly Uint8Array[]> {
  for (let from = 0; from < rows.rowCount; from += STORE_PAGE_ROWS)
    yield Array.from(rows.liveRows(from, Math.min(from + STORE_PAGE_ROWS, rows.rowCount)), (row) => rows.row(row));
}

/** The same from the store, whether or not the process keeps some. */
async function* fromStore(
  source: IntrospectionSource,
  hints: ScanHints,
  isNeeded: (status: StoredStatus) => boolean,
): AsyncIterable<readonly Uint8Array[]> {
  const isAllRead = isNeeded("completed") && needsAllPartitions(hints) && (hints.limit ?? LIMIT_AHEAD_MIN) >= LIMIT_AHEAD_MIN;
  const fill = isAllRead ? source.completed?.fill() : undefined;
  const ranges = neededRanges(source, hints, isNeeded, fill);
  // A statement with a small LIMIT should read little.
  const isMost = hints.limit === undefined || hints.limit > LIMIT_AHEAD_MIN;
  if (source.isOneMoment && isMost) yield* readAhead(ranges, RANGES_AHEAD);
  else for (const range of ranges) yield* range;
  fill?.finish();
}

/** Unfinished before completed in each partition: where the view is not a snapshot, the store finds those that complete in between. */
function* neededRanges(
  source: IntrospectionSource,
  hints: ScanHints,
  isNeeded: (status: StoredStatus) => boolean,
  fill: CompletedFill | undefined,
): Iterable<AsyncIterable<readonly Uint8Array[]>> {
  const services = allowedValues(hints, "target_service_name");
  const unfinished = UNFINISHED.filter(isNeeded);
  for (const partition of neededPartitions(source, hints)) {
    if (unfinished.length === UNFINISHED.length) yield source.store.invocationRows(partition, "unfinished");
    else if (unfinished.length > 0) yield ofStatus(source.store.invocationRows(partition, "unfinished"), new Set(unfinished));
    if (!isNeeded("completed")) continue;
    const completed = source.store.invocationRows(partition, "completed", services);
    yield fill === undefined ? completed : filling(completed, fill);
  }
}

async function* filling(pages: AsyncIterable<readonly Uint8Array[]>, fill: CompletedFill): AsyncIterable<readonly Uint8Array[]> {
  for await (const rows of pages) {
    fill.add(rows);
    yield rows;
  }
}

async function* ofStatus(
  pages: AsyncIterable<readonly Uint8Array[]>,
  statuses: ReadonlySet<StoredStatus | undefined>,
): AsyncIterable<readonly Uint8Array[]> {
  for await (const rows of pages) yield rows.filter((row) => statuses.has(statusOf(row)));
}

/**
 * The ids that a statement names (column `id`). Malformed ids are omitted: nothing has them, and an empty result is more useful than an
 * error.
 */
export function neededIds(hints: ScanHints): readonly InvocationId[] | undefined {
  const texts = allowedValues(hints, "id");
  if (texts === undefined) return undefined;
  const ids: InvocationId[] = [];
  for (const text of texts) {
    const id = parseInvocationId(text);
    if (id.ok) ids.push(id.value);
  }
  return ids;
}

function needsAllPartitions(hints: ScanHints): boolean {
  return ["id", "partition_key", "scope"].every((column) => allowedValues(hints, column) === undefined);
}

/** Partitions of the partition keys or scopes that a statement names, otherwise all. */
function neededPartitions({ partitionCount }: IntrospectionSource, hints: ScanHints): Iterable<number> {
  const keys = allowedValues(hints, "partition_key");
  const scopes = allowedValues(hints, "scope");
  if (keys === undefined && scopes !== undefined)
    return new Set([...scopes].map((scope) => partitionOfKey(hashString(scope), partitionCount)));
  if (keys === undefined) return Array.from({ length: partitionCount }, (_, partition) => partition);
  return new Set([...keys].map((key) => partitionOfKey(BigInt(key), partitionCount)));
}

async function byId(
  source: IntrospectionSource,
  ids: readonly InvocationId[],
  isNeeded: (status: StoredStatus) => boolean,
  isJournalNext: boolean,
): Promise<readonly Uint8Array[]> {
  const rows: Uint8Array[] = [];
  for (const row of await rowsOfIds(source, ids, isJournalNext && ids.length === 1)) {
    const status = row === undefined ? undefined : statusOf(row);
    if (row !== undefined && status !== undefined && isNeeded(status)) rows.push(row);
  }
  return rows;
}

/** Stored invocations, in the order of the ids; undefined for an id without one. */
export async function rowsOfIds(
  { store, partitionCount }: IntrospectionSource,
  ids: readonly InvocationId[],
  isJournalNext = false,
): Promise<readonly (Uint8Array | undefined)[]> {
  const rows: (Uint8Array | undefined)[] = [];
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    const some = ids.slice(from, from + IDS_AT_ONCE);
    const read = (id: InvocationId) => store.invocationRow(partitionOf(id, partitionCount), id, isJournalNext);
    rows.push(...(await Promise.all(some.map(read))));
  }
  return rows;
}

/** Accepts every status; for tables without a status column. */
export const anyStatus = (): boolean => true;
