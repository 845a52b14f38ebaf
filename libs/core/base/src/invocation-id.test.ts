import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  fromHex,
  hashString,
  type InvocationId,
  idempotentInvocationId,
  invocationIdFromRaw,
  invocationIdToRaw,
  newInvocationId,
  PartitionSubset,
  parseInvocationId,
  partitionKeyOf,
  partitionOf,
  partitionOfKey,
  type Random,
  randomSeedOf,
  siblingInvocationId,
  systemRandom,
  toHex,
  workflowInvocationId,
} from "./index.js";
import { anyText } from "./testing/index.js";

type Lookup = {
  workflow?: string;
  service?: string;
  key?: string;
  handler?: string;
  idempotencyKey?: string;
  id: string;
  raw: string;
};
type Variation = { request: Record<string, string>; status: number; id?: string; raw?: string; message?: string };
type Recorded = {
  lookups: Lookup[];
  lookupVariations: Variation[];
  randomSeeds: { invocationId: InvocationId; raw: string; seed: string }[];
  invocationIdCodec: { raw: string; text: InvocationId }[];
  rejectedInvocationIds: { text: string; message: string }[];
};
const recorded = JSON.parse(readFileSync(new URL("../testdata/ids.json", import.meta.url), "utf8")) as Recorded;
const rawBytes = fc.uint8Array({ minLength: 24, maxLength: 24 });

function idOf(lookup: Lookup): InvocationId {
  if (lookup.workflow !== undefined) return workflowInvocationId(lookup.workflow, lookup.key!);
  return idempotentInvocationId({ service: lookup.service!, key: lookup.key, handler: lookup.handler! }, lookup.idempotencyKey!);
}

describe("ids derived from names", () => {
  test("are those the reference server answered, for all 486 recorded lookups", () => {
    const derived = recorded.lookups.map((lookup) => [idOf(lookup), toHex(invocationIdToRaw(idOf(lookup)))]);
    expect(derived).toEqual(recorded.lookups.map((lookup) => [lookup.id, lookup.raw]));
    expect(derived).toHaveLength(486);
  });

  test.each(recorded.lookupVariations.filter((v) => v.status === 200 && v.request["target"] !== "invocation"))(
    "answer unusual requests as recorded: $request",
    ({ request, id }) => {
      const scope = request["scope"];
      const derived =
        request["target"] === "workflow"
          ? workflowInvocationId(request["workflowName"]!, request["workflowKey"]!, scope)
          : idempotentInvocationId(
              { service: request["service"]!, key: request["key"], handler: request["handler"]!, scope },
              request["idempotencyKey"]!,
            );
      expect(derived).toBe(id);
    },
  );

  test("do not depend on the length of the names", () => {
    const long = "k".repeat(100_000);
    const id = idempotentInvocationId({ service: long, key: undefined, handler: long }, long);
    expect(parseInvocationId(id).ok).toBe(true);
    expect(partitionKeyOf(workflowInvocationId("W", long))).toBe(hashString(long));
  });
});

describe("the textual form", () => {
  test.each(recorded.invocationIdCodec)("of $raw is $text", ({ raw, text }) => {
    expect(invocationIdFromRaw(fromHex(raw)!)).toBe(text);
    expect(toHex(invocationIdToRaw(text))).toBe(raw);
    expect(parseInvocationId(text)).toEqual({ ok: true, value: text });
  });

  test.each(recorded.rejectedInvocationIds)("is refused with the recorded words: $message", ({ text, message }) => {
    const parsed = parseInvocationId(text);
    expect(parsed.ok ? "accepted" : `bad invocation id '${text}': ${parsed.problem}`).toBe(message);
  });

  test("survives a round trip for any 24 bytes", () => {
    fc.assert(
      fc.property(rawBytes, (raw) => {
        const id = invocationIdFromRaw(raw);
        expect(id).toMatch(/^inv_1[0-9a-zA-Z]{33}$/);
        expect(parseInvocationId(id)).toEqual({ ok: true, value: id });
        expect(toHex(invocationIdToRaw(id))).toBe(toHex(raw));
      }),
      { numRuns: 1000 },
    );
  });

  test("refuses every text that no raw id has", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 45 }), (text) => {
        const parsed = parseInvocationId(`inv_1${text}`);
        if (parsed.ok) expect(invocationIdFromRaw(invocationIdToRaw(parsed.value))).toBe(`inv_1${text}`);
        else expect(["bad length", "base62 decode error"]).toContain(parsed.problem);
      }),
    );
  });
});

describe("partitions", () => {
  test("are the same for an id and for its key, and lie in range", () => {
    fc.assert(
      fc.property(rawBytes, fc.integer({ min: 1, max: 1 << 20 }), (raw, count) => {
        const id = invocationIdFromRaw(raw);
        const partition = partitionOf(id, count);
        expect(partition).toBe(partitionOfKey(partitionKeyOf(id), count));
        expect(partition).toBeGreaterThanOrEqual(0);
        expect(partition).toBeLessThan(count);
      }),
      { numRuns: 1000 },
    );
  });

  test("are slices of equal size in the order of the keys", () => {
    const last = 0xffff_ffff_ffff_ffffn;
    expect([0n, last / 4n, last / 4n + 1n, last / 2n + 1n, last].map((key) => partitionOfKey(key, 4))).toEqual([0, 0, 1, 2, 3]);
  });

  test.each([0, -1, 1.5, (1 << 20) + 1])("cannot number %p", (count) => {
    const id = newInvocationId({ service: "S", key: undefined, handler: "h" }, 0, systemRandom);
    expect(() => partitionOf(id, count)).toThrow("a partition count is in 1…2²⁰");
    expect(() => partitionOfKey(1n, count)).toThrow("a partition count is in 1…2²⁰");
  });
});

describe("fresh ids", () => {
  /** Gives 0, 1, 2 … as 32-bit numbers and 0xab as every byte. */
  function counting(): Random {
    let next = 0;
    return { bytes: (into) => void into.fill(0xab), uint32: () => next++, float: () => 0 };
  }

  test("of a keyed target lie with all others of the key, and carry the time", () => {
    const id = newInvocationId({ service: "O", key: "k1", handler: "h" }, 1_795_246_690_990, counting());
    expect(toHex(invocationIdToRaw(id))).toBe(`548ae3cba54055b3${"01a1fd0a92ae"}${"ab".repeat(10)}`);
  });

  test("of a scoped target lie with all others of the scope", () => {
    const id = newInvocationId({ service: "O", key: "k1", handler: "h", scope: "sc1" }, 1, counting());
    expect(partitionKeyOf(id)).toBe(hashString("sc1"));
  });

  test("of a plain service spread over exactly the 512 buckets that idempotency keys use", () => {
    const random = counting();
    const fresh = new Set<bigint>();
    for (let i = 0; i < 2048; i++)
      fresh.add(partitionKeyOf(newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, random)));
    expect(fresh.size).toBe(512);
    for (let i = 0; i < 100; i++) {
      const id = idempotentInvocationId({ service: "S", key: undefined, handler: "h" }, `key ${i}`);
      expect(fresh).toContain(partitionKeyOf(id));
    }
  });

  test("of a plain service are of a preferred partition, spread over all of them", () => {
    const preferred = new PartitionSubset([1, 6], 8);
    const drawn = new Set<number>();
    for (let i = 0; i < 1_000; i++)
      drawn.add(partitionOf(newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, systemRandom, preferred), 8));
    expect([...drawn].sort()).toEqual([1, 6]);
  });

  test("of a plain service are valid when no preferred partition is drawn", () => {
    const random = counting();
    const none = new PartitionSubset([], 8);
    const id = newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, random, none);
    expect(parseInvocationId(id)).toMatchObject({ ok: true });
    expect(random.uint32()).toBe(64); // Every draw took one number.
  });

  test.each([{ key: "k1" }, { key: undefined, scope: "sc1" }])("of %j are where they always are", (place) => {
    const target = { service: "O", handler: "h", ...place };
    const id = newInvocationId(target, 1, counting(), new PartitionSubset([], 8));
    expect(partitionKeyOf(id)).toBe(partitionKeyOf(newInvocationId(target, 1, counting())));
  });

  test("stay correct with more services than the cache holds", () => {
    const idFor = (service: string) => partitionKeyOf(newInvocationId({ service, key: undefined, handler: "h" }, 1, counting()));
    const first = idFor("first");
    for (let i = 0; i < 1100; i++) idFor(`service ${i}`);
    expect(idFor("first")).toBe(first);
  });

  test("of a restart share the partition key of the source and nothing else", () => {
    const source = invocationIdFromRaw(new Uint8Array(24).fill(0x77));
    const sibling = siblingInvocationId(source, 2 ** 48 - 1, counting());
    expect(toHex(invocationIdToRaw(sibling))).toBe(`${"77".repeat(8)}${"ff".repeat(6)}${"ab".repeat(10)}`);
  });

  test("are all different", () => {
    const ids = new Set<string>();
    for (let i = 0; i < 10_000; i++) ids.add(newInvocationId({ service: "S", key: "k", handler: "h" }, 1, systemRandom));
    expect(ids.size).toBe(10_000);
  });
});

test.each(recorded.randomSeeds)("the random seed of $invocationId is the one the server sent", ({ invocationId, raw, seed }) => {
  expect(toHex(invocationIdToRaw(invocationId))).toBe(raw);
  expect(String(randomSeedOf(invocationId))).toBe(seed);
});
