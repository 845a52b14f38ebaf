import { expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { newEnvironmentId } from "@perdure/cloud";
import { VirtualClock } from "@perdure/testkit";
import { UPSTREAM_EVICT_MS } from "./limits.js";
import { Upstreams } from "./upstreams.js";

const origin = "http://127.0.0.1:1";

test("T3: two environments never share connections, not even to the same address", async () => {
  const clock = new VirtualClock();
  await using upstreams = new Upstreams(clock);
  const [one, other] = [newEnvironmentId(1, systemRandom), newEnvironmentId(1, systemRandom)];
  expect(upstreams.of(one, origin)).toBe(upstreams.of(one, origin));
  expect(upstreams.of(other, origin).pool).not.toBe(upstreams.of(one, origin).pool);
  upstreams.of(one, origin).active++;
  clock.advanceBy(UPSTREAM_EVICT_MS);
  upstreams.sweep(clock.monotonicMs());
  expect(upstreams.size).toBe(1); // The connection in use.
});
