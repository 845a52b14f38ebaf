import { expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { encodeInput, MessageType } from "@perdure/service-protocol";
import { anInvocation } from "@perdure/state-machine/testing";
import { redactSource } from "./redact.js";
import { SLICE_BYTES } from "./slices.js";

test("other tasks run between the entries of a long journal", async () => {
  const value = utf8(JSON.stringify({ token: "hunter22-x", text: "x".repeat(SLICE_BYTES) }));
  const entries = Array.from({ length: 8 }, () => ({ type: MessageType.Input, body: encodeInput([], value), appendedAtMs: 0 }));
  const snapshot = { invocation: anInvocation("paused"), held: undefined, entries, events: [] };
  let turns = 0;
  const count = (): void => {
    turns++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const { changed } = await redactSource(
    { snapshot, state: new Map([["s", value]]) },
    { isOn: true, added: [], kept: [], keepsOtherFormats: false },
  );
  clearImmediate(counting);
  expect(changed).toBe(9);
  expect(turns).toBeGreaterThanOrEqual(2 * 9 - 1); // Once when secrets are collected, and once when they are replaced.
});
