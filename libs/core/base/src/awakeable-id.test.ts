import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { awakeableId, type InvocationId, invocationIdFromRaw, parseAwakeableId } from "./index.js";

type Recorded = {
  awakeables: { invocationId: InvocationId; index: number; awakeableId: string }[];
  awakeableIdParsing: { text: string; status: number; message?: string }[];
};
const recorded = JSON.parse(readFileSync(new URL("../testdata/ids.json", import.meta.url), "utf8")) as Recorded;

test.each(recorded.awakeables)(
  "$awakeableId is what the SDK hands out for signal $index",
  ({ invocationId, index, awakeableId: id }) => {
    expect(awakeableId(invocationId, index)).toBe(id);
    expect(parseAwakeableId(id)).toEqual({ ok: true, value: { kind: "signal", invocationId, signalIndex: index } });
  },
);

test.each(recorded.awakeableIdParsing)("parsing $text gives the recorded result", ({ text, status, message }) => {
  const parsed = parseAwakeableId(text);
  expect(parsed.ok ? 202 : 400).toBe(status);
  if (!parsed.ok) expect(`bad awakeable id '${text}': ${parsed.problem}`).toBe(message);
});

test("padding does not change the id: ids of the Java SDK have two padding characters", () => {
  const invocationId = invocationIdFromRaw(new Uint8Array(24).fill(9));
  const text = awakeableId(invocationId, 17);
  for (const padding of ["", "=", "=="]) {
    expect(parseAwakeableId(text + padding)).toEqual({ ok: true, value: { kind: "signal", invocationId, signalIndex: 17 } });
  }
  expect(parseAwakeableId(`${text}===`).ok).toBe(false);
});

test("an id of the older form names a journal entry", () => {
  const invocationId = invocationIdFromRaw(new Uint8Array(24).fill(9));
  const parsed = parseAwakeableId(awakeableId(invocationId, 3).replace("sign", "prom"));
  expect(parsed).toEqual({ ok: true, value: { kind: "legacy", invocationId, entryIndex: 3 } });
});

test("an invocation id is not an awakeable", () => {
  const parsed = parseAwakeableId(invocationIdFromRaw(new Uint8Array(24)));
  expect(parsed).toEqual({ ok: false, problem: "id doesn't match the expected type" });
});

test("there is one spelling for each awakeable: loose bits at the end are refused", () => {
  expect(parseAwakeableId("sign_1oj-bL_HK5s_RTMlobfFx0QHbIOuZVAeFAAAAER").ok).toBe(false);
});

test("any invocation and any 32-bit index survive a round trip", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 24 }), fc.nat(0xffff_ffff), (raw, signalIndex) => {
      const invocationId = invocationIdFromRaw(raw);
      const text = awakeableId(invocationId, signalIndex);
      expect(text).toHaveLength(44);
      expect(parseAwakeableId(text)).toEqual({ ok: true, value: { kind: "signal", invocationId, signalIndex } });
    }),
  );
});

test.each([-1, 2 ** 32, 0.5])("an index of %p is a bug of the caller", (index) => {
  expect(() => awakeableId(invocationIdFromRaw(new Uint8Array(24)), index)).toThrow("a signal index has 32 bits");
});

test.each([
  ["prom_1", "bad length"],
  ["prom_1abc", "bad length"],
  ["prom_1oj-bL_HK5s_RTMlobfFx0QHbIOuZVAeFAAAAE", "base62 decode error"],
  ["sign_1abc", "id doesn't match the expected type"],
])("%s is refused because of %p", (text, problem) => {
  expect(parseAwakeableId(text)).toEqual({ ok: false, problem });
});
