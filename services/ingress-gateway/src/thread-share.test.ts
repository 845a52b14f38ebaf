import { expect, test } from "@jest/globals";
import { ingressShareOf } from "./index.js";

const MIB = 1024 * 1024;

test("the limits of a process are divided among its threads", () => {
  const options = { concurrentRequestsMax: 10, requestsPerSecondMax: 7, bufferedBodyBytesMax: 400 * MIB, requestBytesMax: MIB };
  const shares = [0, 1, 2].map((thread) => ingressShareOf({ ...options, http: { connectionsMax: 100 } }, thread, 3));
  expect(shares.map(({ concurrentRequestsMax }) => concurrentRequestsMax)).toEqual([4, 3, 3]);
  expect(shares.map(({ requestsPerSecondMax }) => requestsPerSecondMax)).toEqual([3, 2, 2]);
  expect(shares.map(({ http }) => http?.connectionsMax)).toEqual([34, 33, 33]);
  expect(shares.reduce((sum, { bufferedBodyBytesMax = 0 }) => sum + bufferedBodyBytesMax, 0)).toBe(400 * MIB);
});

test("what is unlimited stays so, and limits of one request are not divided", () => {
  const share = ingressShareOf({ bodyTimeoutMs: 5, scopesEnabled: false, http: { pipelinedMax: 3 } }, 1, 4);
  expect(share).toMatchObject({ concurrentRequestsMax: undefined, requestsPerSecondMax: undefined });
  expect(share).toMatchObject({ bodyTimeoutMs: 5, scopesEnabled: false, http: { pipelinedMax: 3 } });
});

test("every thread can receive the largest body", () => {
  expect(ingressShareOf({ requestBytesMax: 100 * MIB, bufferedBodyBytesMax: 128 * MIB }, 1, 2).bufferedBodyBytesMax).toBe(
    100 * MIB,
  );
  expect(ingressShareOf({}, 63, 64).bufferedBodyBytesMax).toBe(32 * MIB);
});
