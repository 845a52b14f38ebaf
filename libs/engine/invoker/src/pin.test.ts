/** Which deployment an attempt goes to, and what becomes of it when there is none that fits. */
import { describe, expect, test } from "@jest/globals";
import { cancelSignalId } from "@perdure/service-protocol";
import { aRegistry, aRegistryOf } from "./testing/index.js";
import { failuresOf, handler, policy, sleep, startOf, World, waitForSleep } from "./testing/world.js";

describe("deployments", () => {
  test("without one for the service the attempt is RT0011, is retried, and does not count for the SDK", async () => {
    const world = new World({ services: { Other: { handlers: {} } } }, { retryPolicyDefault: policy });
    const complete = aRegistry({ services: { Svc: { handlers: { run: handler } } } });
    const invocation = await world.invoke();
    expect(failuresOf(invocation)).toEqual(["RT0011 retry"]);
    expect(invocation.commands.some(({ kind }) => kind === "pin")).toBe(false);
    world.registry = complete;
    await world.pass(2_000);
    expect(startOf(world.last).retryCountSinceLastStoredEntry).toBe(0);
    world.last.respond().command(sleep);
    await world.turn();
    expect(invocation.pinned).toBeDefined();
  });

  test("removing the pinned one is RT0011", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    const { services } = world.registry.current();
    world.registry = aRegistryOf({ services, deployments: new Map(), rules: [] });
    await world.pass(2_000);
    expect(failuresOf(invocation).at(-1)).toBe("RT0011 retry");
  });

  test("one that needs a newer protocol is RT0013", async () => {
    const world = new World({ minProtocolVersion: 7, maxProtocolVersion: 8 });
    expect((await world.invoke()).failures).toMatchObject([{ error: { errorCode: "RT0013" } }]);
    const v7 = new World({ minProtocolVersion: 7, maxProtocolVersion: 8 }, { protocolVersionMax: 7 });
    const invocation = await v7.invoke();
    v7.last.respond().command(sleep);
    await v7.turn();
    expect(invocation.pinned).toMatchObject({ protocolVersion: 7 });
  });

  test("a pinned version that is no longer supported is RT0014", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().command(sleep).control(waitForSleep).close();
    await world.turn();
    invocation.pinned = { deploymentId: invocation.pinned!.deploymentId, protocolVersion: 4 };
    world.partition.signal(invocation.facts.id, cancelSignalId, { kind: "void" });
    await world.turn();
    expect(failuresOf(invocation)).toEqual(["RT0014 retry"]);
  });

  test("Lambda without a Lambda transport is a failure of the attempt", async () => {
    const world = new World({
      address: { kind: "lambda", arn: "arn:aws:lambda:eu:1:function:f:1", assumeRoleArn: undefined, compression: undefined },
    });
    expect((await world.invoke()).failures).toMatchObject([{ error: { errorCode: "RT0010" } }]);
  });
});
