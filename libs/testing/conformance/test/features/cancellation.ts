/** Cancelling requests an end, killing forces it; both reach all invocations in a tree of calls. */
import { describe, expect } from "@jest/globals";
import { errorOf, eventually, probe } from "../../src/index.js";
import { awaited, type Blocking } from "../../src/services/index.js";
import type { Scenario, Stage } from "./stage.js";

const leafOf = (stage: Stage, key: string) =>
  eventually("the leaf", () => probe.get<string>(`leaf:${stage.variant.suffix}:${key}`));

export function describeCancellation(scenario: Scenario): void {
  describe("a cancelled invocation", () => {
    for (const blocking of ["sleep", "awakeable", "signal", "call", "run"] satisfies Blocking[]) {
      scenario(`passes it on to the callee it waits for, which waits for: ${blocking}`, async (stage) => {
        const key = stage.key();
        const root = await stage.sendOn("Root", key, "start", blocking);
        const leaf = await leafOf(stage, key);
        expect((await stage.admin.invocation(root.invocationId, "cancel")).status).toBe(202);
        expect(await stage.ingress.outcome(root.invocationId)).toBe("cancelled 409");
        expect((await stage.ingress.attach(leaf)).status).toBe(409);
        // It could compensate and write, and its callee let go of its key.
        expect(probe.count(`compensated:${stage.variant.suffix}:${key}`)).toBe(1);
        expect(await stage.callOn("Root", key, "cancelled")).toBe(409);
        expect(await stage.callOn("Leaf", key, "free")).toBe("free");
      });
    }

    scenario("that catches nothing ends with 409", async (stage) => {
      const key = stage.key();
      const root = await stage.sendOn("Root", key, "startPlain", "sleep");
      await leafOf(stage, key);
      await stage.admin.invocation(root.invocationId, "cancel");
      const answer = await stage.ingress.attach(root.invocationId);
      expect(answer.status).toBe(409);
      expect(errorOf(answer)).toMatchObject({ code: 409, message: "Cancelled", source: "invocation" });
    });

    scenario("may continue until it is done", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Persistent", "survive", name);
      for (const round of [0, 1]) {
        await eventually("its next wait", () => probe.get(`survive:${name}`) === round);
        await stage.admin.invocation(invocationId, "cancel");
      }
      expect(await stage.ingress.outcome(invocationId)).toEqual([409, 409]);
    });

    scenario("may receive it as a promise", async (stage) => {
      const { invocationId } = await stage.send("Persistent", "explicit");
      await stage.admin.invocation(invocationId, "cancel");
      expect(await stage.ingress.outcome(invocationId)).toBe("stop requested");
    });

    scenario("may be cancelled by another handler", async (stage) => {
      const { invocationId } = await stage.send("Echo", "sleep", 3_600_000);
      await stage.call("Signals", "cancel", invocationId);
      expect((await stage.ingress.attach(invocationId)).status).toBe(409);
    });

    scenario("in the inbox of an object ends at once and never runs", async (stage) => {
      const key = stage.key();
      const held = await stage.sendOn("Store", key, "hold");
      const awakeable = await eventually("the awakeable", () => probe.get<string>(`held:${stage.variant.suffix}:${key}`));
      const [first, second] = [await stage.sendOn("Store", key, "append", 1), await stage.sendOn("Store", key, "append", 2)];
      expect((await stage.admin.invocation(first.invocationId, "cancel")).status).toBe(200);
      await stage.ingress.resolveAwakeable(awakeable, null);
      expect(await stage.ingress.outcome(second.invocationId)).toEqual([2]);
      expect((await stage.ingress.attach(held.invocationId)).status).toBe(200);
    });

    scenario("scheduled for later ends at once, and so does every caller that waits for it", async (stage) => {
      const { invocationId } = await stage.ingress.send([stage.service("Echo"), "echo"], 1, { delay: "1h" });
      const waiting = stage.ingress.attach(invocationId);
      // The waiting request is there when a second one, sent after it, has been answered.
      expect((await stage.ingress.output(invocationId)).status).toBe(470);
      expect((await stage.admin.invocation(invocationId, "cancel")).status).toBe(200);
      expect([404, 409]).toContain((await waiting).status);
    });
  });

  describe("a killed invocation", () => {
    scenario("cancels the callees too, awaited and not", async (stage) => {
      for (const handler of ["start", "startDetached"]) {
        const key = stage.key();
        const root = await stage.sendOn("Root", key, handler, "sleep");
        const leaf = await leafOf(stage, key);
        expect((await stage.admin.invocation(root.invocationId, "kill")).status).toBe(200);
        for (const id of [root.invocationId, leaf]) {
          const answer = await stage.ingress.attach(id);
          expect(answer.status).toBe(409);
          expect(errorOf(answer)).toMatchObject({ code: 409, message: "killed" });
        }
        expect(probe.count(`compensated:${stage.variant.suffix}:${key}`)).toBe(0);
        expect(await stage.callOn("Leaf", key, "free")).toBe("free");
        expect(await stage.callOn("Root", key, "cancelled")).toBeNull();
      }
    });

    scenario("gives its callers the error", async (stage) => {
      const name = stage.key();
      const caller = stage.try("Awakeables", "wait", name);
      const awakeable = await eventually("the awakeable", () => probe.get<string>(awaited(name)));
      // The awakeable's id holds the invocation's own.
      const id = await invocationOf(awakeable);
      await stage.admin.invocation(id, "kill");
      expect((await caller).status).toBe(409);
    });
  });
}

/** `sign_1` and 28 bytes: 24 of the invocation, 4 of the signal's number. The textual id is made by the library of ids. */
async function invocationOf(awakeable: string): Promise<string> {
  const { invocationIdFromRaw } = await import("@perdure/base");
  return invocationIdFromRaw(Buffer.from(awakeable.slice("sign_1".length), "base64url").subarray(0, 24));
}
