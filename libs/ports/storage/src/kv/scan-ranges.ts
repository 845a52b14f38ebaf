/** Where the rows are that belong to a service and a key, by table. */
import type { StateRange } from "../partition-store.js";
import { after, table } from "./keys.js";

export type ScannedTable = "state" | "promises" | "locks" | "inboxes";

const TABLE_PREFIXES: Readonly<Record<ScannedTable, string>> = { state: "s", promises: "p", locks: "l", inboxes: "q" };

type KeyRange = readonly [from: string, to: string];

/** Range of the whole table in a partition. */
export function keyedRange(partition: number, of: ScannedTable): KeyRange {
  const from = table(partition, TABLE_PREFIXES[of]);
  return [from, after(from)];
}

/** Ranges of a service's state in a partition; of all state when `service` is undefined. */
export function stateRanges(
  partition: number,
  service: string | undefined,
  where: StateRange = "everywhere",
): readonly KeyRange[] {
  if (service === undefined) return [keyedRange(partition, "state")];
  // A service has one keyspace, and one more for each scope in which it is used.
  const keyspaces = where === "inScopes" ? [`${service}@`] : [`${service}\0`, `${service}@`];
  return keyspaces.map((keyspace) => {
    const from = table(partition, TABLE_PREFIXES.state) + keyspace;
    return [from, after(from)];
  });
}
