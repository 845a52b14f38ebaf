import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { invokerDefaults, invokerShareOf, LargeMessages } from "./index.js";

test("concurrent attempts and the memory of large messages are divided among the threads of a process", () => {
  const shares = [0, 1, 2].map((thread) => invokerShareOf({ ...invokerDefaults, concurrentInvocationsMax: 100 }, thread, 3));
  expect(shares.map(({ concurrentInvocationsMax }) => concurrentInvocationsMax)).toEqual([34, 33, 33]);
  expect(shares.reduce((sum, { largeMessagesBytesMax = 0 }) => sum + largeMessagesBytesMax, 0)).toBe(32 * 1024 * 1024);
});

test("limits of one attempt are not divided", () => {
  const share = invokerShareOf(invokerDefaults, 0, 4);
  expect({ ...share, concurrentInvocationsMax: 1_000, largeMessagesBytesMax: undefined }).toEqual({
    ...invokerDefaults,
    largeMessagesBytesMax: undefined,
  });
});

test("a message waits when the share of its thread is in use, and a large one has its turn alone", () => {
  const { largeMessagesBytesMax = 0 } = invokerShareOf(invokerDefaults, 0, 4);
  const messages = new LargeMessages(new VirtualClock(), largeMessagesBytesMax);
  const first = messages.acquire("Svc", 2 * largeMessagesBytesMax, () => undefined);
  const second = messages.acquire("Svc", 1, () => undefined);
  expect([first.state, second.state]).toEqual(["granted", "waiting"]);
  first.release();
  expect(second.state).toBe("granted");
  second.release();
});
