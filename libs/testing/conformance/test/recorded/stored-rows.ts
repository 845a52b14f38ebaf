/** Why: everything that a store keeps, as JSON, is what the newest build must still read in a recording. */
import { createHash } from "node:crypto";
import type { AsyncPartitionStore, PartitionStore } from "@perdure/storage";

type Store = Pick<
  PartitionStore | AsyncPartitionStore,
  | "unfinished"
  | "completed"
  | "readJournal"
  | "events"
  | "scanState"
  | "scanPromises"
  | "scanLocks"
  | "scanInboxes"
  | "timers"
  | "flow"
  | "outbox"
>;

export interface StoredRow {
  readonly partition: number;
  readonly table: string;
  readonly row: unknown;
}

const ROWS_MAX = 100_000;
/** Longer bytes are recorded as their hash. */
const SHOWN_BYTES_MAX = 1_024;

/** Rows of the partitions from 0, in the order of their tables. */
export async function storedRows(store: Store, partitionCount: number): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  for (let partition = 0; partition < partitionCount; partition++) {
    const add = (table: string, row: unknown): unknown => rows.push({ partition, table, row: asJson(row) });
    for (const scan of [store.unfinished(partition, undefined), store.completed(partition)]) {
      for await (const invocation of scan) {
        const { id } = invocation.facts;
        add("invocation", invocation);
        add("journal", [id, await store.readJournal(partition, id, invocation.journal.length)]);
        add("events", [id, await store.events(partition, id)]);
      }
    }
    for await (const row of store.scanState(partition, undefined)) add("state", row);
    for await (const row of store.scanPromises(partition)) add("promise", row);
    for await (const row of store.scanLocks(partition)) add("lock", row);
    for await (const row of store.scanInboxes(partition)) add("inbox", row);
    for (const group of ["precise", "retention"] as const)
      for (const timer of await store.timers(partition, group, 0, ROWS_MAX)) add("timer", timer);
    const { buckets, pauses } = await store.flow(partition);
    for (const bucket of buckets) add("bucket", bucket);
    for (const pause of pauses) add("pause", pause);
    for (const message of await store.outbox(partition, -1, ROWS_MAX)) add("outbox", message);
  }
  return rows;
}

/** The JSON form of a value, without undefined fields and without the bytes that facts have. */
function asJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return bytesAsJson(value);
  if (typeof value === "bigint") return { $bigint: String(value) };
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== "object" || value === null) return value;
  const isFacts = "completionRetentionMs" in value;
  const fields = Object.entries(value).filter(([name, field]) => field !== undefined && !(isFacts && name === "bytes"));
  return Object.fromEntries(fields.map(([name, field]) => [name, asJson(field)]));
}

function bytesAsJson(bytes: Uint8Array): unknown {
  if (bytes.length <= SHOWN_BYTES_MAX) return { $base64: Buffer.from(bytes).toString("base64") };
  return { $sha256: createHash("sha256").update(bytes).digest("hex"), length: bytes.length };
}
