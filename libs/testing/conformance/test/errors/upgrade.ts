/** Codes of invocations that outlived what they were started with: a protocol version, or an intact journal. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseInvocationId } from "@perdure/base";
import { eventually, probe, TestWorld } from "../../src/index.js";
import { storeObject } from "../../src/services/store.js";
import { expectFailure } from "./codes.js";
import { damageRows, pinTo } from "./damage.js";

const MARK = "this text is in the journal of one invocation and nowhere else";
const PARTITIONS = 4;
/** A version that this server does not support yet. */
const LATER_VERSION = 8;

/** Invocations that wait for an awakeable while the server is stopped. */
const HELD = ["later", "damaged", "sound"] as const;

export function describeUpgradeErrors(): void {
  describe("a server that starts again with less than it had", () => {
    let world: TestWorld;
    const held = new Map<string, { readonly id: string; readonly awakeable: string }>();
    const idOf = (key: (typeof HELD)[number]) => held.get(key)?.id ?? "";

    beforeAll(async () => {
      world = await TestWorld.start({
        settings: {
          "worker.num-partitions": PARTITIONS,
          "worker.invoker.max-protocol-version": 7,
          "worker.invoker.inactivity-timeout": "30ms",
        },
      });
      await world.deploy({ services: [storeObject("Old")] });
      await world.deploy({ services: [storeObject("OnlySeven")], protocolVersion: 7 });
      for (const key of HELD) {
        const { invocationId } = await world.ingress.send(["StoreOld", key, "hold"], MARK.concat(key));
        const awakeable = await eventually("the awakeable", () => probe.get<string>(`held:Old:${key}`));
        held.set(key, { id: invocationId, awakeable });
      }
      await world.server.stop();
      const { partitions } = world.server.databases;
      expect(await damageRows(partitions, MARK.concat("damaged"), "remove")).toBe(1);
      const later = parseInvocationId(idOf("later"));
      if (later.ok) await pinTo(partitions, PARTITIONS, later.value, LATER_VERSION);
      await world.server.startAgain({ "worker.invoker.max-protocol-version": 6 });
      for (const { awakeable } of held.values()) await world.ingress.resolveAwakeable(awakeable, "go");
    });
    afterAll(() => world[Symbol.asyncDispose]());

    test("RT0014: it does not know the protocol version of an invocation, which can be killed", async () => {
      await expectFailure(world, idOf("later"), "RT0014");
      expect((await world.admin.invocation(idOf("later"), "kill")).status).toBe(200);
      expect((await world.ingress.attach(idOf("later"))).status).toBe(409);
    });

    test("RT0006: it cannot replay what it cannot read", async () => {
      await expectFailure(world, idOf("damaged"), "RT0006");
    });

    test("RT0013: the endpoint speaks only what it may not, until it may again", async () => {
      const { invocationId } = await world.ingress.send(["StoreOnlySeven", "k", "append"], 1);
      await expectFailure(world, invocationId, "RT0013");
      await world.server.stop();
      await world.server.startAgain();
      expect(await world.ingress.outcome(invocationId)).toEqual([1]);
    });

    test("everything else continues with the version it was started with", async () => {
      expect(await world.ingress.outcome(idOf("sound"))).toEqual({ value: "go" });
    });
  });
}
