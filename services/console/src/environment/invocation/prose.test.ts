import { expect, test } from "@jest/globals";
import { proseParts } from "./prose.js";

const textOf = (text: string) =>
  proseParts(text)
    .map((part) => (part.kind === "time" ? "<time>" : part.text))
    .join("");

test.each([
  ["It has been suspended for 6m 23s and waits.", "It has been suspended for 6 min 23 s and waits."],
  ["starts at 2026-11-23T17:48:13.438Z (in 36s).", "starts at <time> (in 36 s)."],
  ["It failed at 2026-11-23T17:48:13Z (1d 2h 3m ago)", "It failed at <time> (1 d 2 h ago)"],
  ["It has waited for 340ms for its invoker", "It has waited for 340 ms for its invoker"],
  ["failed with [500] 'timeout of 10s'; for 5m", "failed with [500] 'timeout of 10s'; for 5 min"],
  ["waits for 3 others in A/5m-key", "waits for 3 others in A/5m-key"],
])("%j reads %j", (text, expected) => expect(textOf(text)).toBe(expected));

test("times keep their moment and lose their milliseconds", () => {
  const [, time] = proseParts("at 2026-11-23T17:48:13.438Z");
  expect(time).toMatchObject({ kind: "time", atMs: Date.UTC(2026, 10, 23, 17, 48, 13, 438) });
  expect(time?.text).not.toMatch(/438|[AP]M/);
});
