/** The stored forms and their schema in `proto/storage`: our codecs and one that is generated from the schema are the same. */
import { readFileSync } from "node:fs";
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { anId } from "@perdure/state-machine/testing";
import fc from "fast-check";
import { decodeInvocation, decodeOutboxCommand, decodePromise, encodeInvocation } from "../src/index.js";
import { arbitraryInvocation } from "../src/testing/arbitraries.js";
import { FORMS } from "./forms.js";
import { file_v1_invocation } from "./gen/v1/invocation_pb.js";
import { file_v1_outbox } from "./gen/v1/outbox_pb.js";
import { file_v1_rows } from "./gen/v1/rows_pb.js";
import { oracleInbox, oracleLock, oraclePromise } from "./oracle.js";

const RUNS = { numRuns: 300 };

describe.each(FORMS)("the stored form of $name", ({ values, encode, decode, oracle }) => {
  test("written by our codec is read by the other as the same value", () => {
    fc.assert(
      fc.property(values, (value) => {
        const { reads, message } = oracle(value);
        expect(reads(encode(value))).toEqual(message);
      }),
      RUNS,
    );
  });

  test("written by the other codec, which omits defaults, is read by ours as the same value", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(decode(oracle(value).bytes, value)).toEqual(value);
      }),
      RUNS,
    );
  });

  test("is read as before when a later version has added fields, whatever their type", () => {
    fc.assert(
      fc.property(values, laterFields, (value, later) => {
        expect(decode(concat(encode(value), later), value)).toEqual(value);
        expect(decode(concat(later, encode(value)), value)).toEqual(value);
      }),
      RUNS,
    );
  });
});

describe("fields that are missing", () => {
  const empty = new Uint8Array(0);
  const decoded = (name: string): unknown => FORMS.find((form) => form.name === name)?.decode(empty, undefined);

  test("have their defaults in rows that may be empty", () => {
    expect(decoded("lock")).toEqual({ holder: undefined, head: 0, tail: 0 });
    expect(decoded("inbox entry")).toEqual({ kind: "stateMutation", expectedVersion: undefined, entries: [] });
    expect(decoded("workflow promise")).toEqual({ kind: "pending", listeners: [] });
    expect(decoded("paused queue")).toEqual({ pausedAtMs: 0, lock: undefined });
    expect(decoded("number")).toBe(0);
    expect(decoded("packed rows")).toEqual([]);
    expect(decoded("journal event")).toEqual({ kind: "transientError", afterIndex: -1, atMs: 0, error: undefined });
  });

  test("are errors where a row cannot exist without them", () => {
    expect(() => decodeInvocation(Uint8Array.of(0))).toThrow();
    expect(() => decodeOutboxCommand(empty)).toThrow();
    expect(() => decodePromise(Uint8Array.of(0x12, 0))).toThrow();
  });
});

test("unknown fields of an invocation's facts survive a new write, because facts are copied; those of other messages do not", () => {
  fc.assert(
    fc.property(arbitraryInvocation, (invocation) => {
      const row = encodeInvocation(invocation);
      const extended = {
        ...invocation,
        facts: { ...invocation.facts, bytes: concat(invocation.facts.bytes as Uint8Array, LATER) },
      };
      const later = decodeInvocation(concat(encodeInvocation(extended), LATER));
      const again = encodeInvocation({ ...later, modifiedAtMs: later.modifiedAtMs + 1 });
      expect(decodeInvocation(again).facts.bytes).toEqual(extended.facts.bytes);
      expect(again.length).toBe(encodeInvocation({ ...extended, modifiedAtMs: extended.modifiedAtMs + 1 }).length);
      expect(row.length).toBeLessThan(again.length);
    }),
    { numRuns: 50 },
  );
});

test("the oracle is independent: different values have different messages", () => {
  const holder = anId(1);
  expect(oracleLock({ holder, head: 1, tail: 2 }).message).not.toEqual(oracleLock({ holder, head: 2, tail: 2 }).message);
  expect(oracleInbox({ kind: "invocation", id: holder }).bytes).not.toEqual(
    oracleInbox({ kind: "invocation", id: anId(2) }).bytes,
  );
  const pending = { kind: "pending", listeners: [{ id: holder, generation: undefined, completionId: 0 }] } as const;
  expect(oraclePromise(pending).bytes).not.toEqual(oraclePromise({ kind: "pending", listeners: [] }).bytes);
});

test("every field of the first release still has its number, type and presence", () => {
  const fields = [file_v1_invocation, file_v1_outbox, file_v1_rows].flatMap(fieldsOf);
  const released = readFileSync(new URL("../testdata/schema.v1.txt", import.meta.url), "utf8")
    .trim()
    .split("\n");
  expect(released.length).toBeGreaterThan(100);
  expect(fields).toEqual(expect.arrayContaining(released));
});

/** One line for each field and each value of an enumeration. */
function fieldsOf(file: DescFile): string[] {
  const ofMessage = (message: DescMessage): string[] => [
    ...message.fields.map(({ name, number, proto }) => {
      const optional = proto.proto3Optional ? "optional " : "";
      return `${message.typeName} ${number} ${optional}${proto.label === 3 ? "repeated " : ""}${proto.typeName || proto.type} ${name}`;
    }),
    ...message.nestedMessages.flatMap(ofMessage),
  ];
  const values = file.enums.flatMap(({ typeName, values: all }) =>
    all.map(({ name, number }) => `${typeName} ${number} ${name}`),
  );
  return [...file.messages.flatMap(ofMessage), ...values];
}

// ── fields of later versions ─────────────────────────────────────────────────────────────────────

/** Field 200, varint 5. */
const LATER = Uint8Array.of(0xc0, 0x0c, 0x05);

const field = fc.integer({ min: 100, max: 5_000 });
const later = fc.oneof(
  fc.tuple(field, fc.nat()).map(([number, value]) => concat(varint(number * 8), varint(value))),
  fc.tuple(field, fc.uint8Array({ minLength: 8, maxLength: 8 })).map(([number, value]) => concat(varint(number * 8 + 1), value)),
  fc
    .tuple(field, fc.uint8Array({ maxLength: 200 }))
    .map(([number, value]) => concat(varint(number * 8 + 2), varint(value.length), value)),
  fc.tuple(field, fc.uint8Array({ minLength: 4, maxLength: 4 })).map(([number, value]) => concat(varint(number * 8 + 5), value)),
);
const laterFields = fc.array(later, { minLength: 1, maxLength: 3 }).map((fields) => concat(...fields));

function varint(n: number): Uint8Array {
  const bytes: number[] = [];
  let rest = n;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
