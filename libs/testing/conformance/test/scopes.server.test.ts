/** Scopes for clients and handlers: the scope of an invocation, calls with a scope from code, and where scopes are not supported. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connect, rpc } from "@restatedev/restate-sdk-clients";
import { eventually, TestWorld } from "../src/index.js";
import { admissionGate, gateService, gateWorkflow, type Who } from "../src/services/admission-gate.js";
import { gate } from "./gate.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [gateService, gateWorkflow] });
});
afterAll(() => world[Symbol.asyncDispose]());
const { scoped, send, rules, inside, waiting, done } = gate(() => world);

describe("identity", () => {
  test("of a workflow includes its scope: run, state, promises and all", async () => {
    for (const scope of ["red", "blue"]) {
      expect((await scoped(scope, "send", "GateFlow/w/run", scope)).json).toMatchObject({ status: "Accepted" });
    }
    expect(await world.ingress.send(["GateFlow", "w", "run"], "none")).toMatchObject({ status: "Accepted" });
    expect((await scoped("red", "send", "GateFlow/w/run", "again")).json).toMatchObject({ status: "PreviouslyAccepted" });
    const value = async (scope: string | undefined): Promise<unknown> =>
      scope === undefined
        ? world.ingress.result(["GateFlow", "w", "value"])
        : (await scoped(scope, "call", "GateFlow/w/value", undefined)).json;
    for (const scope of ["red", "blue", undefined]) {
      await eventually(`the value of ${scope}`, async () => (await value(scope)) === (scope ?? "none"));
    }
    const stored = await world.admin.query(
      "select scope, value_utf8 from state where service_name = 'GateFlow' and service_key = 'w' order by scope",
    );
    expect(stored).toEqual([
      { scope: "blue", value_utf8: '"blue"' },
      { scope: "red", value_utf8: '"red"' },
      { value_utf8: '"none"' },
    ]);
    const target = (scope?: string) => ({
      target: "workflow",
      workflowName: "GateFlow",
      workflowKey: "w",
      ...(scope === undefined ? {} : { scope }),
    });
    const fetchOutput = (verb: "output" | "attach", scope?: string) =>
      world.ingress.http.request("POST", `/restate/${verb}`, { json: target(scope) });
    expect((await fetchOutput("output", "red")).status).toBe(470);
    await scoped("red", "call", "GateFlow/w/go", "red is done");
    expect((await fetchOutput("attach", "red")).json).toBe("red is done");
    expect((await fetchOutput("output", "blue")).status).toBe(470);
    expect((await fetchOutput("output")).status).toBe(470);
    expect((await fetchOutput("output", "green")).status).toBe(404);
    await scoped("blue", "call", "GateFlow/w/go", "b");
    await world.ingress.result(["GateFlow", "w", "go"], "n");
    expect([(await fetchOutput("attach", "blue")).json, (await fetchOutput("attach")).json]).toEqual(["b", "n"]);
  });

  test("of an idempotent call includes its scope", async () => {
    const ids = [];
    for (const scope of ["red", "blue", "red"]) {
      const answer = await scoped(scope, "call", "Gate/who", null, { idempotencyKey: "same" });
      expect(answer.status).toBe(200);
      ids.push(answer.headers["x-restate-id"]);
    }
    expect(ids[0]).toBe(ids[2]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("is passed to the handler", async () => {
    const answer = await scoped("told", "call", "Gate/who", null, { limitKey: "a/b", idempotencyKey: "k", priority: 2 });
    const who = answer.json as Who;
    expect(who).toMatchObject({ scope: "told", limitKey: "a/b", idempotencyKey: "k" });
    expect(who.headers).not.toHaveProperty("x-perdure-priority");
    const unscoped = await world.ingress.result<Who>(["Gate", "who"], null);
    expect([unscoped.scope, unscoped.limitKey]).toEqual([undefined, undefined]);
  });
});

describe("a handler that calls into a scope", () => {
  test("names scope, limit key and priority of the callee", async () => {
    const relay = { scope: "called", limitKey: "x/y", headers: { "x-perdure-priority": "1", kept: "yes" } };
    const answer = await world.ingress.call(["Gate", "relay"], relay);
    expect(answer.json).toMatchObject({ scope: "called", limitKey: "x/y", headers: { kept: "yes" } });
    expect((answer.json as Who).headers).not.toHaveProperty("x-perdure-priority");
    const [entry] = await world.admin.query(
      `select entry_json from sys_journal where id = '${String(answer.headers["x-restate-id"])}' and entry_type = 'Command: Call'`,
    );
    expect(JSON.parse(String(entry?.["entry_json"]))).toMatchObject({
      Command: { Call: { request: { invocation_target: { Service: { name: "Gate", handler: "who", scope: "called" } } } } },
    });
  });

  test.each([
    ["a malformed limit key", { scope: "s", limitKey: "a/b/c" }],
    ["a malformed scope", { scope: "not/one" }],
    ["a malformed priority", { scope: "s", headers: { "x-perdure-priority": "first" } }],
  ])("gets RT0024 for %s", async (_what, relay) => {
    const { invocationId } = await world.ingress.send(["Gate", "relay"], relay);
    await eventually("the attempt fails", async () => {
      const row = await world.admin.row(invocationId);
      return row?.["last_failure_error_code"] === "RT0024" || row?.["status"] === "completed";
    });
    expect((await world.admin.row(invocationId))?.["status"]).not.toBe("completed");
    await world.admin.invocation(invocationId, "kill");
  });

  test("queues by the rule", async () => {
    await rules({ pattern: "busy", limits: { concurrency: 1 } });
    const guard = await send("busy", { group: "busy", name: "guard" });
    await inside("busy", 1);
    const relayed = await world.ingress.send(["Gate", "relay"], { scope: "busy" });
    await eventually("the callee waits", async () => (await waiting("busy")) === 1);
    admissionGate.leaveAll("busy");
    await done([guard]);
    expect(await world.ingress.outcome(relayed.invocationId)).toMatchObject({ scope: "busy" });
  });
});

describe("the official TypeScript client", () => {
  test("calls and sends in a scope, with a limit key", async () => {
    const client = connect({ url: world.server.ingressUrl }).scope("client");
    const who = await client.serviceClient<typeof gateService>({ name: "Gate" }).who(rpc.opts({ limitKey: "t/u" }));
    expect(who).toMatchObject({ scope: "client", limitKey: "t/u" });
    const sent = await client
      .serviceSendClient<typeof gateService>({ name: "Gate" })
      .pass({ group: "client", name: "visitor", ms: 0 }, rpc.sendOpts({ idempotencyKey: "once" }));
    expect(await world.ingress.outcome(sent.invocationId)).toBe("visitor");
    const flow = client.workflowClient<typeof gateWorkflow>({ name: "GateFlow" }, "w-client");
    const submitted = await flow.workflowSubmit("value");
    await eventually("the workflow has begun", async () => (await flow.value()) === "value");
    await flow.go("end");
    expect(await world.ingress.outcome(submitted.invocationId)).toBe("end");
  });
});

describe("a server without flow control", () => {
  test("refuses scopes at the ingress, and fails handlers with RT0024", async () => {
    await using off = await TestWorld.start({
      settings: { "experimental-enable-vqueues": "false", "worker.invoker.max-protocol-version": 7 },
    });
    await off.deploy({ services: [gateService] });
    const answer = await off.ingress.http.request("POST", "/restate/scope/s/call/Gate/who", { json: null });
    expect(answer).toMatchObject({ status: 400, json: { message: "scoped invocations require vqueues to be enabled" } });
    expect(((await off.admin.get("/version")).json as { features: object }).features).toMatchObject({ vqueues: false });
    const { invocationId } = await off.ingress.send(["Gate", "relay"], { scope: "s" });
    await eventually(
      "the attempt fails",
      async () => (await off.admin.row(invocationId))?.["last_failure_error_code"] === "RT0024",
    );
    await off.admin.invocation(invocationId, "kill");
  });
});
