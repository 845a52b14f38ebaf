import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonLines } from "./json-lines.js";

async function* inPieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const at = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let from = 0;
  for (const to of at) {
    yield bytes.subarray(from, to);
    from = to;
  }
}

test("events come out as they went in, however the stream is cut", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 8 }), async (events, cuts) => {
      const text = events.map((event) => `${JSON.stringify(event)}\n`).join("");
      const read: unknown[] = [];
      for await (const event of jsonLines(inPieces(new TextEncoder().encode(text), cuts))) read.push(event);
      expect(JSON.stringify(read)).toBe(JSON.stringify(events.map((event) => JSON.parse(JSON.stringify(event)))));
    }),
  );
});

test("half an event at the end of a broken stream is not an event", async () => {
  const read: unknown[] = [];
  for await (const event of jsonLines(inPieces(new TextEncoder().encode('{"a":1}\n{"b":'), []))) read.push(event);
  expect(read).toEqual([{ a: 1 }]);
});
