import { expect, test } from "@jest/globals";
import type { TransportRequest, TransportResponse } from "@perdure/admin-client";
import { retryingTransport } from "./retrying-transport.js";

const request = (isRepeatable: boolean): TransportRequest => ({
  method: isRepeatable ? "GET" : "POST",
  url: new URL("https://console.test/"),
  headers: {},
  body: undefined,
  signal: undefined,
  isRepeatable,
});
const answer = (status: number, retryAfter?: string): TransportResponse => ({
  status,
  header: (name) => (name === "retry-after" ? retryAfter : undefined),
  body: new Uint8Array(),
});

/** Answers in turn; the last one stays. Pauses take no time, and are recorded. */
function tried(answers: readonly TransportResponse[]) {
  const left = [...answers];
  const pauses: number[] = [];
  let nowMs = 0;
  let requestCount = 0;
  const send = retryingTransport(
    async () => {
      requestCount++;
      return (left.length > 1 ? left.shift() : left[0]) as TransportResponse;
    },
    {
      nowMs: () => nowMs,
      pause: async (ms) => {
        pauses.push(ms);
        nowMs += ms;
      },
    },
  );
  return { send, pauses, requestCount: () => requestCount };
}

test("a request that only reads waits until the environment is up", async () => {
  const { send, pauses } = tried([answer(503, "5"), answer(503, "1"), answer(200)]);
  expect((await send(request(true))).status).toBe(200);
  expect(pauses).toEqual([2_000, 1_000]);
});

test("not for ever", async () => {
  const { send, requestCount } = tried([answer(503, "5")]);
  expect((await send(request(true))).status).toBe(503);
  expect(requestCount()).toBe(11);
});

test("what changes something is not repeated, nor what will not get better", async () => {
  for (const [one, isRepeatable] of [
    [answer(503, "1"), false],
    [answer(503), true],
    [answer(429, "1"), true],
  ] as const) {
    const { send, requestCount } = tried([one]);
    await send(request(isRepeatable));
    expect(requestCount()).toBe(1);
  }
});

test("an aborted request does not wait any longer", async () => {
  const stop = new AbortController();
  const send = retryingTransport(async () => answer(503, "1"));
  const waiting = send({ ...request(true), signal: stop.signal });
  stop.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
});
