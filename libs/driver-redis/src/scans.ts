/**
 * Cursors over the tables of a partition, in bounded pages. What is there from beginning to end is told exactly once; what comes,
 * goes or changes meanwhile is told as it was at some moment, or not at all. A scan remembers the names it told, because Redis may
 * tell one twice when it resizes a table.
 */
import { answer } from "./asking.js";
import { fieldCells, fieldOf } from "./fetch.js";
import { SCAN_OBJECTS, SCAN_ROWS } from "./limits.js";
import type { Command, Reply } from "./link.js";
import { type Cell, payloadsOf } from "./payloads.js";
import type { Reads } from "./reads.js";

/** Pages of a hash as fields and payloads. `wanted` spares the payloads of those it refuses, by their stored form. */
export async function* scanHash(
  asker: Reads,
  prefix: string,
  hash: string,
  wanted: (stored: Buffer) => boolean = () => true,
): AsyncIterable<readonly (readonly [field: Buffer, payload: Uint8Array])[]> {
  const key = prefix + hash;
  for await (const items of cursor(asker, "HSCAN", key, 2)) {
    const cells = fieldCells(key, items).filter((cell) => wanted(cell.stored as Buffer));
    const payloads = await payloadsOf(asker, prefix, cells);
    yield pairs(cells, payloads);
  }
}

/** Pages of a plain hash, whose values are no rows. */
export async function* scanValues(
  asker: Reads,
  key: string,
): AsyncIterable<readonly (readonly [field: string, value: string])[]> {
  for await (const items of cursor(asker, "HSCAN", key, 2)) {
    const page: (readonly [string, string])[] = [];
    for (let i = 0; i + 1 < items.length; i += 2)
      page.push([(items[i] as Buffer).toString(), (items[i + 1] as Buffer).toString()]);
    yield page;
  }
}

/** The objects of a keyed table one after the other, each with all its rows. */
export async function* scanObjects(
  asker: Reads,
  prefix: string,
  table: string,
  wanted: (object: string) => boolean,
): AsyncIterable<{
  readonly object: string;
  readonly cells: readonly Cell[];
  readonly payloads: readonly (Uint8Array | undefined)[];
}> {
  for await (const members of cursor(asker, "SSCAN", prefix + table, 1)) {
    const objects = members.map((member) => member.toString()).filter(wanted);
    for (let from = 0; from < objects.length; from += SCAN_OBJECTS) {
      const some = objects.slice(from, from + SCAN_OBJECTS);
      const replies = await asker.ask(some.map((object): Command => ["HGETALL", `${prefix}${table}:${object}`]));
      for (const [n, object] of some.entries()) {
        const cells = fieldCells(`${prefix}${table}:${object}`, answer(replies[n] as Reply) as readonly Buffer[]);
        yield { object, cells, payloads: await payloadsOf(asker, prefix, cells) };
      }
    }
  }
}

function pairs(cells: readonly Cell[], payloads: readonly (Uint8Array | undefined)[]): [Buffer, Uint8Array][] {
  const page: [Buffer, Uint8Array][] = [];
  for (const [n, cell] of cells.entries()) {
    const payload = payloads[n];
    if (payload !== undefined) page.push([fieldOf(cell), payload]);
  }
  return page;
}

/** Pages of `HSCAN` or `SSCAN` without repetition; `width` items belong together, the first being the name. */
async function* cursor(asker: Reads, command: "HSCAN" | "SSCAN", key: string, width: 1 | 2): AsyncIterable<readonly Buffer[]> {
  let seen: Set<string> | undefined;
  for (let at = "0"; ; ) {
    const [next, items] = (await asker.one([command, key, at, "COUNT", SCAN_ROWS])) as [Buffer, readonly Buffer[]];
    at = next.toString();
    if (seen === undefined && at === "0") {
      if (items.length > 0) yield items; // All of it in one page.
      return;
    }
    seen ??= new Set();
    const fresh: Buffer[] = [];
    for (let i = 0; i < items.length; i += width) {
      const name = (items[i] as Buffer).toString("latin1");
      if (seen.has(name)) continue;
      seen.add(name);
      for (let j = i; j < i + width; j++) fresh.push(items[j] as Buffer);
    }
    if (fresh.length > 0) yield fresh;
    if (at === "0") return;
  }
}
