import { describe, expect, test } from "@jest/globals";
import {
  awakeableId,
  EMPTY_BYTES,
  hashString,
  idempotentInvocationId,
  newInvocationId,
  partitionKeyOf,
  systemRandom,
  toBinaryString,
  utf8,
  workflowInvocationId,
} from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import { encodeInput, type JournalCommand } from "@perdure/service-protocol";
import { type InvocationFacts, PRIORITY_DEFAULT, type Target } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import { commandAction } from "./command-action.js";
import { aRegistry, aTarget, someFacts } from "./testing/index.js";

const clock = new VirtualClock(1_795_000_000_000);
const registry = aRegistry({
  services: {
    Svc: { handlers: { run: { journalRetentionMs: 1_000, idempotencyRetentionMs: 500 } } },
    Obj: { type: "virtualObject", handlers: { add: { public: false }, peek: { handlerType: "shared" } } },
    Wf: { type: "workflow", handlers: { run: { workflowRetentionMs: 700, journalRetentionMs: 1_000 } } },
  },
});

const service = aTarget();
const object: Target = {
  scope: undefined,
  service: "Obj",
  key: "k",
  handler: "add",
  serviceType: "virtualObject",
  handlerType: "exclusive",
};
const sharedHandler: Target = { ...object, handler: "peek", handlerType: "shared" };
const workflow: Target = {
  scope: undefined,
  service: "Wf",
  key: "w",
  handler: "run",
  serviceType: "workflow",
  handlerType: "workflow",
};
const workflowShared: Target = { ...workflow, handler: "status", handlerType: "shared" };

function actionOf(
  target: Target,
  command: JournalCommand,
  view: RegistryView = registry,
  facts: Partial<InvocationFacts> = {},
  scopesEnabled = true,
) {
  return commandAction(someFacts({ target, ...facts }), command, { registry: view, clock, random: systemRandom, scopesEnabled });
}

const call = (more: Partial<Extract<JournalCommand, { kind: "call" }>> = {}): JournalCommand => ({
  kind: "call",
  serviceName: "Svc",
  handlerName: "run",
  key: "",
  parameter: utf8("argument"),
  headers: [{ key: "a", value: "b" }],
  idempotencyKey: undefined,
  scope: undefined,
  limitKey: undefined,
  invocationIdNotificationIdx: 1,
  resultCompletionId: 2,
  name: "",
  ...more,
});
const send = (more: Partial<Extract<JournalCommand, { kind: "oneWayCall" }>> = {}): JournalCommand => ({
  kind: "oneWayCall",
  serviceName: "Svc",
  handlerName: "run",
  key: "",
  parameter: EMPTY_BYTES,
  headers: [],
  idempotencyKey: undefined,
  scope: undefined,
  limitKey: undefined,
  invocationIdNotificationIdx: 1,
  invokeTimeMs: 0,
  name: "",
  ...more,
});
const setState: JournalCommand = { kind: "setState", stateKey: utf8("ä"), value: utf8("v"), name: "" };
const clearState: JournalCommand = { kind: "clearState", stateKey: utf8("a"), name: "" };
const clearAll: JournalCommand = { kind: "clearAllState", name: "" };
const getLazy: JournalCommand = { kind: "getLazyState", stateKey: utf8("a"), resultCompletionId: 3, name: "" };
const getKeys: JournalCommand = { kind: "getLazyStateKeys", resultCompletionId: 3, name: "" };
const getEager: JournalCommand = { kind: "getEagerState", stateKey: utf8("a"), result: { kind: "void" }, name: "" };
const getEagerKeys: JournalCommand = { kind: "getEagerStateKeys", stateKeys: [], name: "" };
const getPromise: JournalCommand = { kind: "getPromise", key: "p", resultCompletionId: 3, name: "" };
const peekPromise: JournalCommand = { kind: "peekPromise", key: "p", resultCompletionId: 3, name: "" };
const completePromise: JournalCommand = {
  kind: "completePromise",
  key: "p",
  completion: { kind: "failure", failure: { code: 418, message: "no", metadata: [] } },
  resultCompletionId: 3,
  name: "",
};

describe("preconditions", () => {
  test.each([setState, clearState, clearAll, getLazy, getKeys, getEager, getEagerKeys])(
    "a plain service has no state: $kind is RT0017",
    (command) => {
      expect(actionOf(service, command)).toMatchObject({ kind: "refused", code: "RT0017" });
    },
  );

  test.each([setState, clearState, clearAll])("a shared handler cannot change state: $kind is RT0017", (command) => {
    expect(actionOf(sharedHandler, command)).toMatchObject({ kind: "refused", code: "RT0017" });
    expect(actionOf(workflowShared, command)).toMatchObject({ kind: "refused", code: "RT0017" });
    expect(actionOf(object, command).kind).toBe(command.kind);
    expect(actionOf(workflow, command).kind).toBe(command.kind);
  });

  test.each([getLazy, getKeys])("a shared handler may read state: $kind", (command) => {
    expect(actionOf(sharedHandler, command).kind).toBe(command.kind);
  });

  test.each([getPromise, peekPromise, completePromise])("promises are for workflows: $kind elsewhere is RT0017", (command) => {
    expect(actionOf(service, command)).toMatchObject({ kind: "refused", code: "RT0017" });
    expect(actionOf(object, command)).toMatchObject({ kind: "refused", code: "RT0017" });
    expect(actionOf(workflow, command).kind).toBe(command.kind);
    expect(actionOf(workflowShared, command).kind).toBe(command.kind);
  });

  test.each([
    ["an unknown service", call({ serviceName: "Nope" }), "RT0018"],
    ["an unknown handler", call({ handlerName: "nope" }), "RT0018"],
    ["an unknown service of a send", send({ serviceName: "Nope" }), "RT0018"],
    ["a key for a plain service", call({ key: "k" }), "RT0017"],
    ["an empty idempotency key", call({ idempotencyKey: "" }), "RT0017"],
    ["an empty idempotency key of a send", send({ idempotencyKey: "" }), "RT0017"],
    ["a malformed scope", call({ scope: "a/b" }), "RT0024"],
    ["a priority without a scope", call({ headers: [{ key: "X-Perdure-Priority", value: "1" }] }), "RT0024"],
    ["a malformed priority", call({ scope: "s", headers: [{ key: "x-perdure-priority", value: "0" }] }), "RT0024"],
    ["an object in a scope", call({ serviceName: "Obj", handlerName: "add", key: "k", scope: "s" }), "RT0017"],
    ["a limit key without a scope", call({ limitKey: "l" }), "RT0024"],
    ["a malformed limit key", send({ scope: "s", limitKey: "a/b/c" }), "RT0024"],
    [
      "a malformed invocation id to attach to",
      { kind: "attachInvocation", target: { kind: "invocationId", invocationId: "inv_nope" }, resultCompletionId: 1, name: "" },
      "RT0017",
    ],
    [
      "a malformed invocation id to request",
      { kind: "getInvocationOutput", target: { kind: "invocationId", invocationId: "" }, resultCompletionId: 1, name: "" },
      "RT0017",
    ],
    [
      "a malformed scope of a workflow to attach to",
      {
        kind: "attachInvocation",
        target: { kind: "workflow", workflowName: "Wf", workflowKey: "k", scope: "s/t" },
        resultCompletionId: 1,
        name: "",
      },
      "RT0024",
    ],
    [
      "a malformed id to signal",
      {
        kind: "sendSignal",
        targetInvocationId: "nope",
        signal: { kind: "signalIndex", index: 1 },
        result: { kind: "void" },
        name: "",
      },
      "RT0012",
    ],
    [
      "a malformed awakeable",
      { kind: "completeAwakeable", awakeableId: "sign_1x", result: { kind: "value", value: EMPTY_BYTES }, name: "" },
      "RT0012",
    ],
    ["Input", { kind: "input", headers: [], value: EMPTY_BYTES, name: "" }, "RT0012"],
  ] as [string, JournalCommand, string][])("%s is refused", (_what, command, code) => {
    expect(actionOf(service, command)).toMatchObject({ kind: "refused", code });
  });

  test("a callee served only by a deployment of an older protocol is RT0020", () => {
    const old = aRegistry({ minProtocolVersion: 1, maxProtocolVersion: 4, services: { Svc: { handlers: { run: {} } } } });
    expect(actionOf(service, call(), old)).toMatchObject({ kind: "refused", code: "RT0020" });
  });

  test("an empty scope is not a scope", () => {
    expect(actionOf(service, call({ scope: "", limitKey: "" })).kind).toBe("call");
  });

  test("where flow control is switched off, every scope is RT0024", () => {
    const off = (command: JournalCommand) => actionOf(service, command, registry, {}, false);
    const attach = (target: Extract<JournalCommand, { kind: "attachInvocation" }>["target"]): JournalCommand => ({
      kind: "attachInvocation",
      target,
      resultCompletionId: 1,
      name: "",
    });
    for (const command of [
      call({ scope: "s" }),
      send({ scope: "s" }),
      call({ serviceName: "Obj", handlerName: "add", key: "k", scope: "s" }),
      attach({ kind: "workflow", workflowName: "Wf", workflowKey: "k", scope: "s" }),
      attach({
        kind: "idempotentRequest",
        serviceName: "Svc",
        serviceKey: undefined,
        handlerName: "run",
        idempotencyKey: "i",
        scope: "s",
      }),
    ]) {
      expect(off(command)).toMatchObject({ kind: "refused", code: "RT0024", reason: expect.stringContaining("not enabled") });
    }
    expect(off(call()).kind).toBe("call");
  });
});

describe("callees in a scope", () => {
  const calleeOf = (command: JournalCommand) => {
    const action = actionOf(service, command);
    if (action.kind !== "call" && action.kind !== "oneWayCall") throw new Error(`refused: ${JSON.stringify(action)}`);
    return action.callee;
  };

  test("carry the scope, the limit key and the priority, which the callee does not see", () => {
    const headers = [
      { key: "a", value: "b" },
      { key: "X-Perdure-Priority", value: "1" },
    ];
    const callee = calleeOf(send({ scope: "s", limitKey: "t/u", headers }));
    expect(callee.facts).toMatchObject({ target: { scope: "s", service: "Svc" }, limitKey: "t/u", priority: 1 });
    expect(callee.input).toEqual(encodeInput([{ key: "a", value: "b" }], EMPTY_BYTES));
    expect(partitionKeyOf(callee.facts.id)).toBe(hashString("s"));
  });

  test("have no limit key and the default priority unless the handler names them", () => {
    expect(calleeOf(call({ scope: "s", limitKey: "" })).facts).toMatchObject({ limitKey: undefined, priority: PRIORITY_DEFAULT });
    expect(calleeOf(call()).facts).toMatchObject({
      target: { scope: undefined },
      limitKey: undefined,
      priority: PRIORITY_DEFAULT,
    });
  });

  test("are found again by the scope together with their workflow key or idempotency key", () => {
    const run = call({ serviceName: "Wf", key: "w", scope: "s" });
    expect(calleeOf(run).facts.id).toBe(workflowInvocationId("Wf", "w", "s"));
    expect(calleeOf(call({ scope: "s", idempotencyKey: "i" })).facts.id).toBe(
      idempotentInvocationId({ service: "Svc", key: undefined, handler: "run", scope: "s" }, "i"),
    );
  });
});

describe("callees", () => {
  test("carry everything decided about them, and exactly the headers of the command", () => {
    const facts = someFacts({ target: service });
    const action = commandAction(facts, call(), { registry, clock, random: systemRandom, scopesEnabled: true });
    if (action.kind !== "call") throw new Error(action.kind);
    expect(action).toMatchObject({ invocationIdCompletionId: 1, resultCompletionId: 2 });
    expect(action.callee.input).toEqual(encodeInput([{ key: "a", value: "b" }], utf8("argument")));
    expect(action.callee.facts).toEqual({
      id: expect.stringMatching(/^inv_1/),
      target: { scope: undefined, service: "Svc", key: undefined, handler: "run", serviceType: "service", handlerType: "shared" },
      source: { kind: "service", callerId: facts.id, callerTarget: service },
      idempotencyKey: undefined,
      requestId: 0,
      createdAtMs: 1_795_000_000_000,
      executionTimeMs: undefined,
      completionRetentionMs: 1_000,
      journalRetentionMs: 1_000,
      randomSeed: undefined,
      trace: undefined,
      limitKey: undefined,
      priority: PRIORITY_DEFAULT,
      bytes: undefined,
    });
  });

  function calleeOf(command: JournalCommand, facts: Partial<InvocationFacts> = {}): InvocationFacts {
    const action = actionOf(service, command, registry, facts);
    if (action.kind !== "call" && action.kind !== "oneWayCall") throw new Error(action.kind);
    return action.callee.facts;
  }

  test("with an idempotency key have one id, and the retention of idempotent calls", () => {
    const facts = calleeOf(call({ idempotencyKey: "once" }));
    expect(facts.id).toBe(idempotentInvocationId({ service: "Svc", key: undefined, handler: "run" }, "once"));
    expect(facts).toMatchObject({ idempotencyKey: "once", completionRetentionMs: 500, journalRetentionMs: 500 });
  });

  test("of a workflow's run have the id of its key, whatever the idempotency key", () => {
    const facts = calleeOf(call({ serviceName: "Wf", key: "w", idempotencyKey: "ignored" }));
    expect(facts.id).toBe(workflowInvocationId("Wf", "w"));
    expect(facts).toMatchObject({ idempotencyKey: undefined, completionRetentionMs: 700, journalRetentionMs: 700 });
  });

  test("of an object share its partition, get fresh ids, and may be private or have an empty key", () => {
    const facts = [
      calleeOf(call({ serviceName: "Obj", handlerName: "add", key: "" })),
      calleeOf(send({ serviceName: "Obj", handlerName: "add", key: "" })),
    ];
    expect(facts[0]!.target).toEqual({
      service: "Obj",
      key: "",
      handler: "add",
      serviceType: "virtualObject",
      handlerType: "exclusive",
    });
    expect(facts[0]!.id).not.toBe(facts[1]!.id);
    expect(partitionKeyOf(facts[0]!.id)).toBe(partitionKeyOf(facts[1]!.id));
  });

  test("start later only when they request a time in the future", () => {
    expect(calleeOf(send({ invokeTimeMs: 1_795_000_060_000 })).executionTimeMs).toBe(1_795_000_060_000);
    expect(calleeOf(send({ invokeTimeMs: 1_794_999_999_999 })).executionTimeMs).toBeUndefined();
  });

  test("are child spans of their caller's trace", () => {
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b" };
    const child = calleeOf(call(), { trace }).trace;
    expect(child?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(child?.traceparent).not.toBe(trace.traceparent);
    expect(child?.tracestate).toBe("a=b");
    expect(calleeOf(call(), { trace: { traceparent: "garbage", tracestate: undefined } }).trace).toBeUndefined();
  });
});

describe("actions", () => {
  const id = newInvocationId(service, 1, systemRandom);

  test("state keys travel as binary strings", () => {
    expect(actionOf(object, setState)).toEqual({ kind: "setState", key: toBinaryString(utf8("ä")), value: utf8("v") });
  });

  test("an awakeable is a signal of its invocation; an id of an older journal has no target", () => {
    const result = { kind: "value", value: utf8("1") } as const;
    const complete = (awakeable: string) =>
      actionOf(service, { kind: "completeAwakeable", awakeableId: awakeable, result, name: "" });
    expect(complete(awakeableId(id, 17))).toEqual({
      kind: "sendSignal",
      to: id,
      signal: { kind: "signalIndex", index: 17 },
      result,
    });
    expect(complete(awakeableId(id, 3).replace("sign_", "prom_"))).toEqual({ kind: "none" });
  });

  test("attach and get-output find their invocation by id, by workflow, or by idempotency key", () => {
    const attach = (target: Extract<JournalCommand, { kind: "attachInvocation" }>["target"]) =>
      actionOf(service, { kind: "attachInvocation", target, resultCompletionId: 9, name: "" });
    expect(attach({ kind: "invocationId", invocationId: id })).toEqual({ kind: "attach", to: id, completionId: 9 });
    expect(attach({ kind: "workflow", workflowName: "Wf", workflowKey: "w", scope: undefined })).toMatchObject({
      to: workflowInvocationId("Wf", "w"),
    });
    expect(attach({ kind: "workflow", workflowName: "Wf", workflowKey: "w", scope: "s" })).toMatchObject({
      to: workflowInvocationId("Wf", "w", "s"),
    });
    const idempotent = { kind: "idempotentRequest", handlerName: "add", idempotencyKey: "i", scope: undefined } as const;
    expect(attach({ ...idempotent, serviceName: "Svc", serviceKey: "", scope: "s" })).toMatchObject({
      to: idempotentInvocationId({ service: "Svc", key: undefined, handler: "add", scope: "s" }, "i"),
    });
    expect(attach({ ...idempotent, serviceName: "Obj", serviceKey: "k" })).toMatchObject({
      to: idempotentInvocationId({ service: "Obj", key: "k", handler: "add" }, "i"),
    });
    // A plain service has no key, whatever the SDK puts there.
    expect(attach({ ...idempotent, serviceName: "Svc", serviceKey: "" })).toMatchObject({
      to: idempotentInvocationId({ service: "Svc", key: undefined, handler: "add" }, "i"),
    });
    const output: JournalCommand = {
      kind: "getInvocationOutput",
      target: { kind: "invocationId", invocationId: id },
      resultCompletionId: 9,
      name: "",
    };
    expect(actionOf(service, output)).toEqual({ kind: "getOutput", to: id, completionId: 9 });
  });

  test("the failure of a promise is an outcome", () => {
    expect(actionOf(workflow, completePromise)).toEqual({
      kind: "completePromise",
      key: "p",
      outcome: { kind: "failure", failure: { code: 418, message: "no", metadata: [] }, stacktrace: undefined },
      completionId: 3,
    });
  });
});
