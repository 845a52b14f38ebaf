import { expect, test } from "@jest/globals";
import { CHUNKED, ChunkSets, chunkReference, INLINE, storedPayload } from "./big-values.js";
import { CHUNK_BYTES } from "./limits.js";

const DAMAGED = expect.objectContaining({ code: "STO0003" });

function tagged(tag: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([tag]), Buffer.from(text)]);
}

test("a stored value is its payload, or refers to the chunks that were staged for it", () => {
  expect(storedPayload(tagged(INLINE, "abc"))).toEqual(new Uint8Array([97, 98, 99]));
  const payload = new Uint8Array(CHUNK_BYTES + 1);
  expect(storedPayload(tagged(CHUNKED, chunkReference({ set: "7.12", payload })))).toEqual({ set: "7.12", chunks: 2 });
});

test("a value with another tag or a broken reference is damaged data", () => {
  for (const stored of [
    Buffer.alloc(0),
    tagged(2, "abc"),
    tagged(CHUNKED, ""),
    tagged(CHUNKED, "7.12"),
    tagged(CHUNKED, "7.12 x"),
  ])
    expect(() => storedPayload(stored)).toThrow(DAMAGED);
});

test("a new leader reads the lines that the previous leader wrote", () => {
  const previous = new ChunkSets(3, []);
  const { staged, line } = previous.add("st:inv_1", "key", new Uint8Array(CHUNK_BYTES * 2));
  const next = new ChunkSets(4, [Buffer.from(staged.set), Buffer.from(line)]);
  expect(next.drop("st:inv_1", "key")).toEqual([{ set: staged.set, chunks: 2 }]);
  expect(next.isEmpty).toBe(true);
});

test("a line that cannot be read is damaged data", () => {
  for (const line of ["", "{", "null", "{}", "[]", '["2","g","f"]', '[-1,"g","f"]', "[2,3,4]", '[2,"g"]'])
    expect(() => new ChunkSets(1, [Buffer.from("1.0"), Buffer.from(line)])).toThrow(DAMAGED);
});
