/** Every feature of an SDK's context, in both protocol modes and in every protocol version that the server speaks. */
import { afterAll, beforeAll, describe } from "@jest/globals";
import { World } from "../src/index.js";
import { featureServices } from "../src/services/index.js";
import { describeCalls } from "./features/calls.js";
import { describeCancellation } from "./features/cancellation.js";
import { describeCombinators } from "./features/combinators.js";
import { describeFailures } from "./features/failures.js";
import { describeFlows } from "./features/flows.js";
import { describeSignals } from "./features/signals.js";
import { Stage, VARIANTS } from "./features/stage.js";
import { describeState } from "./features/state.js";
import { describeSteps } from "./features/steps.js";
import { describeTimers } from "./features/timers.js";

let world: World;

beforeAll(async () => {
  world = await World.start({ settings: { "worker.invoker.max-protocol-version": 7, "worker.cleanup-interval": "100ms" } });
  for (const { suffix, kind, version, inactivityMs } of VARIANTS) {
    await world.deploy({
      services: featureServices(suffix),
      kind,
      protocolVersion: version,
      ...(inactivityMs === undefined ? {} : { inactivityMs }),
    });
  }
});
afterAll(() => world[Symbol.asyncDispose]());

for (const variant of VARIANTS) {
  describe(variant.suffix, () => {
    const stage = new Stage(variant, () => world);
    describeState(stage);
    describeSteps(stage);
    describeTimers(stage);
    describeCalls(stage);
    describeCombinators(stage);
    describeSignals(stage);
    describeCancellation(stage);
    describeFailures(stage);
    describeFlows(stage);
  });
}
