/** Every feature of an SDK's context, in both protocol modes and in every protocol version that the server speaks. */
import { afterAll, beforeAll, test } from "@jest/globals";
import { TestWorld } from "../src/index.js";
import { featureServices } from "../src/services/index.js";
import { describeCalls } from "./features/calls.js";
import { describeCancellation } from "./features/cancellation.js";
import { describeCombinators } from "./features/combinators.js";
import { describeFailures } from "./features/failures.js";
import { describeFlows } from "./features/flows.js";
import { describeSignals } from "./features/signals.js";
import { type Scenario, Stage, VARIANTS } from "./features/stage.js";
import { describeState } from "./features/state.js";
import { describeSteps } from "./features/steps.js";
import { describeTimers } from "./features/timers.js";

let world: TestWorld;

beforeAll(async () => {
  world = await TestWorld.start({
    settings: {
      "worker.invoker.max-protocol-version": 7,
      "worker.invoker.eager-state-size-limit": "64KiB", // Objects with large values are read on demand.
      "worker.cleanup-interval": "100ms",
    },
  });
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

const stages = VARIANTS.map((variant) => new Stage(variant, () => world));

const scenario: Scenario = (title, play) => {
  test(title, async () => {
    const outcomes = await Promise.allSettled(stages.map((stage) => play(stage)));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === "fulfilled") continue;
      const { message } = outcome.reason as Error;
      throw new Error(`${stages[i]?.variant.suffix}: ${message}`, { cause: outcome.reason });
    }
  });
};

describeState(scenario);
describeSteps(scenario);
describeTimers(scenario);
describeCalls(scenario);
describeCombinators(scenario);
describeSignals(scenario);
describeCancellation(scenario);
describeFailures(scenario);
describeFlows(scenario);
