/** Workflows run once per key; their promises and state are open to others meanwhile. */
import { describe, expect, test } from "@jest/globals";
import { errorOf, eventually, invocationIdOf, probe } from "../../src/index.js";
import type { Stage } from "./stage.js";

export function describeFlows(stage: Stage): void {
  const { suffix } = stage.variant;
  const flow = <T>(key: string, handler: string, argument?: unknown) => stage.callOn<T>("Flow", key, handler, argument);
  const attach = (name: string, key: string) =>
    stage.ingress.http.request("GET", `/restate/workflow/${stage.service(name)}/${key}/attach`);
  const output = (name: string, key: string) =>
    stage.ingress.http.request("GET", `/restate/workflow/${stage.service(name)}/${key}/output`);
  const submit = async (key: string, input: unknown) => {
    const sent = await stage.sendOn("Flow", key, "run", input);
    await eventually("its first write", async () => (await flow<{ input: unknown }>(key, "state")).input !== null);
    return sent;
  };

  describe("a workflow", () => {
    test("waits for its promise, which another handler resolves", async () => {
      const key = stage.key();
      const { invocationId, status } = await submit(key, "in");
      expect(status).toBe("Accepted");
      expect((await output("Flow", key)).status).toBe(470);
      expect(await flow(key, "peek")).toBe("nothing yet");
      const waiting = flow(key, "wait");
      await flow(key, "resolve", { out: 1 });
      const expected = { input: "in", value: { out: 1 } };
      expect((await attach("Flow", key)).json).toEqual(expected);
      expect((await output("Flow", key)).json).toEqual(expected);
      expect(await stage.ingress.outcome(invocationId)).toEqual(expected);
      expect(await waiting).toEqual({ out: 1 });
      expect(await flow(key, "peek")).toEqual({ out: 1 });
      expect(await flow(key, "state")).toEqual({ input: "in", done: true, keys: ["done", "input"] });
    });

    test("fails with its rejected promise", async () => {
      const key = stage.key();
      await submit(key, "in");
      await flow(key, "reject", "no way");
      const answer = await attach("Flow", key);
      expect(answer.status).toBe(500);
      expect(errorOf(answer).message).toBe("no way");
    });

    test("runs once, however often it is submitted", async () => {
      const key = stage.key();
      const sent = await Promise.all(Array.from({ length: 8 }, () => stage.sendOn("Quick", key, "run", 21)));
      expect(new Set(sent.map(({ invocationId }) => invocationId)).size).toBe(1);
      expect(sent.filter(({ status }) => status === "Accepted")).toHaveLength(1);
      expect((await attach("Quick", key)).json).toEqual({ key, doubled: 42 });
      expect(probe.count(`quick:${suffix}:${key}`)).toBe(1);
      const again = await stage.ingress.call([stage.service("Quick"), key, "run"], 1);
      expect(again.status).toBe(409);
      expect(errorOf(again)).toMatchObject({ message: "the workflow method was already invoked", source: "invocation" });
      expect(invocationIdOf(again)).toBe(sent[0]!.invocationId);
      expect(await stage.callOn("Quick", key, "value")).toBe(21);
    });

    test("fails with its own code", async () => {
      const key = stage.key();
      expect((await stage.ingress.call([stage.service("FailingFlow"), key, "run"], 455)).status).toBe(455);
      expect((await output("FailingFlow", key)).status).toBe(455);
    });

    test("has promises that are completed once", async () => {
      expect(await flow(stage.key(), "twice", "p")).toEqual([
        "accepted",
        { code: 409, message: "promise was already completed" },
        "one",
      ]);
    });

    test("is driven by handlers as by callers", async () => {
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
      expect(await stage.ingress.outcome(id)).toEqual({ key: later, doubled: 6 });
    });

    test("forgets its record, state and promises when its retention is over", async () => {
      const key = stage.key();
      expect(await stage.callOn("Brief", key, "run", "first")).toEqual({ before: null });
      expect(await stage.callOn("Brief", key, "value")).toBe("first");
      await eventually("the end of its retention", async () => (await output("Brief", key)).status === 404);
      expect(await stage.callOn("Brief", key, "value")).toBeNull();
      expect(await stage.callOn("Brief", key, "done")).toBeNull();
      expect(await stage.callOn("Brief", key, "run", "second")).toEqual({ before: null });
      expect(probe.count(`brief:${suffix}:${key}`)).toBe(2);
    });
  });
}
