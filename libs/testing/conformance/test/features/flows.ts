/** Workflows run once per key; their promises and state are open to others meanwhile. */
import { describe, expect } from "@jest/globals";
import { errorOf, eventually, invocationIdOf, probe } from "../../src/index.js";
import type { Scenario, Stage } from "./stage.js";

const flow = <T>(stage: Stage, key: string, handler: string, argument?: unknown) =>
  stage.callOn<T>("Flow", key, handler, argument);
const resultOf = (stage: Stage, name: string, key: string, how: "attach" | "output") =>
  stage.ingress.http.request("GET", `/restate/workflow/${stage.service(name)}/${key}/${how}`);

/** Resolves when the workflow has begun. */
async function submit(stage: Stage, key: string, input: unknown) {
  const sent = await stage.sendOn("Flow", key, "run", input);
  await eventually("its first write", async () => (await flow<{ input: unknown }>(stage, key, "state")).input !== null);
  return sent;
}

export function describeFlows(scenario: Scenario): void {
  describe("a workflow", () => {
    scenario("waits for its promise, which another handler resolves", async (stage) => {
      const key = stage.key();
      const { invocationId, status } = await submit(stage, key, "in");
      expect(status).toBe("Accepted");
      expect((await resultOf(stage, "Flow", key, "output")).status).toBe(470);
      expect(await flow(stage, key, "peek")).toBe("nothing yet");
      const waiting = flow(stage, key, "wait");
      await flow(stage, key, "resolve", { out: 1 });
      const expected = { input: "in", value: { out: 1 } };
      expect((await resultOf(stage, "Flow", key, "attach")).json).toEqual(expected);
      expect((await resultOf(stage, "Flow", key, "output")).json).toEqual(expected);
      expect(await stage.ingress.outcome(invocationId)).toEqual(expected);
      expect(await waiting).toEqual({ out: 1 });
      expect(await flow(stage, key, "peek")).toEqual({ out: 1 });
      expect(await flow(stage, key, "state")).toEqual({ input: "in", done: true, keys: ["done", "input"] });
    });

    scenario("fails with its rejected promise", async (stage) => {
      const key = stage.key();
      await submit(stage, key, "in");
      await flow(stage, key, "reject", "no way");
      const answer = await resultOf(stage, "Flow", key, "attach");
      expect(answer.status).toBe(500);
      expect(errorOf(answer).message).toBe("no way");
    });

    scenario("runs once, however often it is submitted", async (stage) => {
      const key = stage.key();
      const sent = await Promise.all(Array.from({ length: 8 }, () => stage.sendOn("Quick", key, "run", 21)));
      expect(new Set(sent.map(({ invocationId }) => invocationId)).size).toBe(1);
      expect(sent.filter(({ status }) => status === "Accepted")).toHaveLength(1);
      expect((await resultOf(stage, "Quick", key, "attach")).json).toEqual({ key, doubled: 42 });
      expect(probe.count(`quick:${stage.variant.suffix}:${key}`)).toBe(1);
      const again = await stage.ingress.call([stage.service("Quick"), key, "run"], 1);
      expect(again.status).toBe(409);
      expect(errorOf(again)).toMatchObject({ message: "the workflow method was already invoked", source: "invocation" });
      expect(invocationIdOf(again)).toBe(sent[0]!.invocationId);
      expect(await stage.callOn("Quick", key, "value")).toBe(21);
    });

    scenario("fails with its own code", async (stage) => {
      const key = stage.key();
      expect((await stage.ingress.call([stage.service("FailingFlow"), key, "run"], 455)).status).toBe(455);
      expect((await resultOf(stage, "FailingFlow", key, "output")).status).toBe(455);
    });

    scenario("has promises that are completed once", async (stage) => {
      expect(await flow(stage, stage.key(), "twice", "p")).toEqual([
        "accepted",
        { code: 409, message: "promise was already completed" },
        "one",
      ]);
    });

    scenario("is driven by handlers as by callers", async (stage) => {
      const key = stage.key();
      expect(await stage.call("FlowCaller", "drive", key)).toEqual({ input: "from a handler", value: "driven" });
      const quick = stage.key();
      expect(await stage.call("FlowCaller", "again", quick)).toEqual({
        first: { key: quick, doubled: 8 },
        code: 409,
        message: "the workflow method was already invoked",
      });
      const attached = stage.key();
      expect(await stage.call("FlowCaller", "sendThenAttach", attached)).toEqual({ key: attached, doubled: 16 });
      const later = stage.key();
      const id = await stage.call<string>("FlowCaller", "later", { key: later, delay: 60 });
      expect(await stage.outcomeOfSent(id)).toEqual({ key: later, doubled: 6 });
    });

    scenario("deletes its record, state and promises when its retention is over", async (stage) => {
      const key = stage.key();
      expect(await stage.callOn("Brief", key, "run", "first")).toEqual({ before: null });
      expect(await stage.callOn("Brief", key, "value")).toBe("first");
      await eventually("the end of its retention", async () => (await resultOf(stage, "Brief", key, "output")).status === 404);
      expect(await stage.callOn("Brief", key, "value")).toBeNull();
      expect(await stage.callOn("Brief", key, "done")).toBeNull();
      expect(await stage.callOn("Brief", key, "run", "second")).toEqual({ before: null });
      expect(probe.count(`brief:${stage.variant.suffix}:${key}`)).toBe(2);
    });
  });
}
