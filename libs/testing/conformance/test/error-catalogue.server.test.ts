/** Every code of the catalogue is provoked, appears where users see it, and affects no other invocation. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { FakeLambda, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";
import { describeAttemptErrors } from "./errors/attempts.js";
import { CATALOGUE, provoked } from "./errors/codes.js";
import { Heartbeat } from "./errors/heartbeat.js";
import { MESSAGE_BYTES_MAX } from "./errors/misdeeds.js";
import { describeRegistrationErrors } from "./errors/registration.js";
import { describeStartErrors } from "./errors/start.js";
import { describeUpgradeErrors } from "./errors/upgrade.js";

/** Longest accepted interval of the heartbeat, on a machine that runs other tests too. */
const SLOWEST_MS = 30_000;

let world: TestWorld;
let lambda: FakeLambda;
let heartbeat: Heartbeat;

beforeAll(async () => {
  lambda = await FakeLambda.start();
  world = await TestWorld.start({
    environment: lambda.environment,
    settings: {
      "worker.invoker.max-protocol-version": 7,
      "worker.invoker.message-size-limit": MESSAGE_BYTES_MAX,
      "worker.max-journal-retention": "1h",
    },
  });
  await world.deploy({ services: [echoService("Healthy")] });
  heartbeat = new Heartbeat(world, ["EchoHealthy", "echo"]);
});
afterAll(async () => {
  await heartbeat[Symbol.asyncDispose]();
  await lambda[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

describeAttemptErrors(() => world);
describeRegistrationErrors(
  () => world,
  () => lambda,
);
describeUpgradeErrors();
describeStartErrors();

describe("the error catalogue", () => {
  test("affected no other invocation", async () => {
    await heartbeat[Symbol.asyncDispose]();
    expect(heartbeat.failures).toEqual([]);
    expect(heartbeat.slowestMs).toBeLessThan(SLOWEST_MS);
    expect(heartbeat.beats).toBeGreaterThan(50);
  });

  test("has been provoked as a whole", () => {
    expect([...provoked].sort()).toEqual([...CATALOGUE].sort());
  });
});
