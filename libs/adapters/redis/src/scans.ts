/**
 * Cursors over the tables of a partition, in bounded pages. A row that exists during the whole scan is returned exactly once; a row that is
 * inserted, deleted or changed meanwhile is returned as it was at some moment, or not at all. A scan keeps the names that it returned,
 * because Redis may return a name twice when it resizes a table.
 */

import { present } from "@perdure/base";
import { fieldCells, fieldOf } from "./fetch.js";
import { SCAN_OBJECTS, SCAN_ROWS } from "./limits.js";
import type { RedisCommand } from "./link.js";
import { payloadsOf, type StoredCell } from "./payloads.js";
import type { PartitionReads } from "./reads.js";
import { listReply, scanReply } from "./replies.js";

/** Pages of a hash as fields and payloads. `matches` selects values by their stored form; payloads of the others are not read. */
export async function* scanHash(
  requester: PartitionReads,
  prefix: string,
  hash: string,
  matches: (stored: Buffer) => boolean = () => true,
): AsyncIterable<readonly (readonly [field: Buffer, payload: Uint8Array])[]> {
  const key = prefix + hash;
  for await (const items of cursor(requester, "HSCAN", key, 2)) {
    const cells = fieldCells(key, items).filter(({ stored }) => stored !== null && matches(stored));
    const payloads = await payloadsOf(requester, prefix, cells);
    yield pairs(cells, payloads);
  }
}

/** Pages of a plain hash, whose values are not encoded rows. */
export async function* scanValues(
  requester: PartitionReads,
  key: string,
): AsyncIterable<readonly (readonly [field: string, value: string])[]> {
  for await (const items of cursor(requester, "HSCAN", key, 2)) {
    const page: (readonly [string, string])[] = [];
    for (let i = 0; i + 1 < items.length; i += 2) page.push([present(items[i]).toString(), present(items[i + 1]).toString()]);
    yield page;
  }
}

/** The objects of a keyed table one after the other, each with all its rows. */
export async function* scanObjects(
  requester: PartitionReads,
  prefix: string,
  table: string,
  matches: (object: string) => boolean,
): AsyncIterable<{
  readonly object: string;
  readonly cells: readonly StoredCell[];
  readonly payloads: readonly (Uint8Array | undefined)[];
}> {
  for await (const members of cursor(requester, "SSCAN", prefix + table, 1)) {
    const objects = members.map((member) => member.toString()).filter(matches);
    for (let from = 0; from < objects.length; from += SCAN_OBJECTS) {
      const some = objects.slice(from, from + SCAN_OBJECTS);
      const replies = await requester.request(some.map((object): RedisCommand => ["HGETALL", `${prefix}${table}:${object}`]));
      for (const [n, object] of some.entries()) {
        const cells = fieldCells(`${prefix}${table}:${object}`, listReply(present(replies[n])));
        yield { object, cells, payloads: await payloadsOf(requester, prefix, cells) };
      }
    }
  }
}

function pairs(cells: readonly StoredCell[], payloads: readonly (Uint8Array | undefined)[]): [Buffer, Uint8Array][] {
  const page: [Buffer, Uint8Array][] = [];
  for (const [n, cell] of cells.entries()) {
    const payload = payloads[n];
    if (payload !== undefined) page.push([fieldOf(cell), payload]);
  }
  return page;
}

/** Pages of `HSCAN` or `SSCAN` without repetition; `width` items belong together, the first being the name. */
async function* cursor(
  requester: PartitionReads,
  command: "HSCAN" | "SSCAN",
  key: string,
  width: 1 | 2,
): AsyncIterable<readonly Buffer[]> {
  let returnedNames: Set<string> | undefined;
  for (let at = "0"; ; ) {
    const { next, items } = scanReply(await requester.one([command, key, at, "COUNT", SCAN_ROWS]));
    at = next;
    if (returnedNames === undefined && at === "0") {
      if (items.length > 0) yield items; // All of it in one page.
      return;
    }
    returnedNames ??= new Set();
    const fresh: Buffer[] = [];
    for (let i = 0; i < items.length; i += width) {
      const name = present(items[i]).toString("latin1");
      if (returnedNames.has(name)) continue;
      returnedNames.add(name);
      for (let j = i; j < i + width; j++) fresh.push(present(items[j]));
    }
    if (fresh.length > 0) yield fresh;
    if (at === "0") return;
  }
}
