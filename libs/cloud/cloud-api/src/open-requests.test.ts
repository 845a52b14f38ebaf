import { expect, test } from "@jest/globals";
import { REQUESTS_MAX, REQUESTS_OF_NETWORK_MAX } from "./limits.js";
import { OpenRequests } from "./open-requests.js";

const FULL = expect.objectContaining({ code: "PERD0429" });

test("T22: one network cannot use all slots, the total is bounded, and each request frees its slot once", () => {
  const requests = new OpenRequests();
  const fill = (address: string, count: number) => Array.from({ length: count }, () => requests.enter(address));
  const [first] = fill("203.0.113.7", REQUESTS_OF_NETWORK_MAX);
  expect(() => requests.enter("::ffff:203.0.113.7")).toThrow(FULL);
  fill("2001:db8::1", REQUESTS_OF_NETWORK_MAX - 1);
  requests.enter("2001:db8::2"); // The same network.
  expect(() => requests.enter("2001:db8::3")).toThrow(FULL);
  fill("203.0.113.8", REQUESTS_MAX - 2 * REQUESTS_OF_NETWORK_MAX);
  expect(() => requests.enter("203.0.113.8")).toThrow(FULL);
  first?.();
  first?.();
  requests.enter(undefined);
  expect(() => requests.enter("203.0.113.8")).toThrow(FULL);
});
