import { expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import { decodeCommand, encodeInput, MessageType } from "@perdure/service-protocol";
import { anInvocation } from "@perdure/state-machine/testing";
import { type BundleSource, type RedactedSource, redactSource } from "./redact.js";
import { SLICE_BYTES, SLICE_TOKENS } from "./slices.js";

function sourceOf(payloads: readonly Uint8Array[], state?: Uint8Array): BundleSource {
  const headers = [{ key: "authorization", value: "Bearer abcdef" }];
  const entries = payloads.map((value) => ({ type: MessageType.Input, body: encodeInput(headers, value), appendedAtMs: 0 }));
  return {
    snapshot: { invocation: anInvocation("paused"), held: undefined, entries, events: [] },
    state: state && new Map([["s", state]]),
  };
}

/** The source after redaction, and how often the event loop ran other tasks meanwhile. */
async function redacted(source: BundleSource): Promise<{ readonly turns: number; readonly result: RedactedSource }> {
  let turns = 0;
  const count = (): void => {
    turns++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const result = await redactSource(source, { isOn: true, added: [], kept: [], keepsOtherFormats: false });
  clearImmediate(counting);
  return { turns, result };
}

test("other tasks run between the entries of a long journal", async () => {
  const value = utf8(JSON.stringify({ token: "hunter22-x", text: "x".repeat(SLICE_BYTES) }));
  const { turns, result } = await redacted(sourceOf(Array<Uint8Array>(8).fill(value), value));
  expect(result.changed).toBe(17); // Eight payloads with a header each, and the state.
  expect(turns).toBeGreaterThanOrEqual(2 * 9 - 1); // Once when secrets are collected, and once when they are replaced.
});

test("other tasks run while one large payload is redacted, whose result is the same as that of a small one", async () => {
  const tokens = Array.from({ length: SLICE_TOKENS }, (_, n) => ({ token: `hunter22-${n}`, n }));
  const plain = utf8(JSON.stringify(Array.from({ length: SLICE_TOKENS }, (_, n) => ({ text: `${n} of many` }))));
  const { turns, result } = await redacted(sourceOf([utf8(JSON.stringify(tokens)), plain]));
  expect(turns).toBeGreaterThan(20); // More than five tokens a record, in four passes over two payloads.
  const [first, second] = result.snapshot.entries.map(({ body }) => decodeCommand(MessageType.Input, body));
  if (first?.kind !== "input" || second?.kind !== "input") throw new Error("these are inputs");
  const stars = tokens.map(({ token, n }) => ({ token: "*".repeat(token.length), n }));
  expect(JSON.parse(fromUtf8(first.value))).toEqual(stars);
  expect(first.headers).toEqual([{ key: "authorization", value: "*************" }]);
  expect(fromUtf8(second.value)).toBe(fromUtf8(plain));
  expect(result.changed).toBe(3);
});
