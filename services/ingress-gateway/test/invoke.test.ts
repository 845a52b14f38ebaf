/** The command of a call or send for the partition, and the checks before it. */
import { describe, expect, test } from "@jest/globals";
import {
  hashString,
  idempotentInvocationId,
  PartitionSubset,
  partitionKeyOf,
  systemRandom,
  utf8,
  workflowInvocationId,
} from "@perdure/base";
import { decodeCommand, encodeInput, MessageType } from "@perdure/service-protocol";
import { type Invoke, PRIORITY_DEFAULT } from "@perdure/state-machine";
import type { StartSpan } from "@perdure/telemetry/tracing";
import { aHandler, aRegistry } from "../src/testing/index.js";
import { openClient, type TestAnswer, type TestRequest } from "./client.js";
import { type Fixture, type FixtureSettings, startIngress } from "./fixture.js";

const json = { "content-type": "application/json" };
/** One request against an ingress of its own. */
async function send(request: TestRequest, settings: FixtureSettings = {}): Promise<{ answer: TestAnswer; fixture: Fixture }> {
  await using fixture = await startIngress(settings);
  await using client = openClient("http/1.1", fixture.port);
  return { answer: await client.send(request), fixture };
}

async function commandOf(request: TestRequest, settings: FixtureSettings = {}): Promise<Invoke> {
  const { fixture } = await send(request, settings);
  expect(fixture.partitions.invoked).toHaveLength(1);
  return fixture.partitions.invoked[0]!;
}

describe("the command", () => {
  test("of a plain call has a fresh id, no idempotency key and the journal's retention", async () => {
    const before = Date.now();
    const registry = aRegistry({
      S: { type: "service", handlers: [aHandler("S", "h", { journalRetentionMs: 5, idempotencyRetentionMs: 7 })] },
    });
    const command = await commandOf({ path: "/S/h", headers: json, body: "1" }, { registry });
    expect(command).toEqual({
      kind: "invoke",
      id: command.facts.id,
      facts: {
        id: expect.stringMatching(/^inv_1\w{33}$/),
        target: { service: "S", key: undefined, handler: "h", serviceType: "service", handlerType: "shared", scope: undefined },
        source: { kind: "ingress" },
        idempotencyKey: undefined,
        requestId: expect.any(Number),
        createdAtMs: expect.any(Number),
        executionTimeMs: undefined,
        completionRetentionMs: 5,
        journalRetentionMs: 5,
        randomSeed: undefined,
        trace: undefined,
        limitKey: undefined,
        priority: PRIORITY_DEFAULT,
        bytes: undefined,
      },
      input: expect.any(Uint8Array),
      sink: undefined,
    });
    const { createdAtMs, requestId } = command.facts;
    expect(createdAtMs).toBeGreaterThanOrEqual(before);
    expect(createdAtMs).toBeLessThanOrEqual(Date.now());
    expect(Number.isSafeInteger(requestId) && requestId >= 1 && requestId < 2 ** 48).toBe(true);
  });

  test("of a call is in a preferred partition when any partition will do", async () => {
    const preferredPartitions = new PartitionSubset([0, 3, 5, 6], 8); // Of so many an id is drawn almost certainly.
    const options = { preferredPartitions };
    for (const path of ["/Greeter/greet", "/Greeter/greet/send"])
      expect(preferredPartitions.hasId((await commandOf({ path }, { options })).id)).toBe(true);
    const keyed = await commandOf({ path: "/Counter/k/get" }, { options });
    expect(partitionKeyOf(keyed.id)).toBe(hashString("k"));
    const idempotent = await commandOf({ path: "/Greeter/greet", headers: { "idempotency-key": "a" } }, { options });
    expect(idempotent.id).toBe(idempotentInvocationId({ service: "Greeter", key: undefined, handler: "greet" }, "a"));
  });

  test("carries the path, the headers and the body as the Input entry", async () => {
    const command = await commandOf({
      path: "/Greeter/greet?q=1",
      headers: { ...json, "X-Custom": "Value", "idempotency-key": "i", "idempotency-expires": "x" },
      body: '"Ann"',
    });
    const expected = [
      { key: "x-restate-ingress-path", value: "/Greeter/greet?q=1" },
      { key: "content-type", value: "application/json" },
      { key: "x-custom", value: "Value" },
      { key: "content-length", value: "5" },
    ];
    expect(command.input).toEqual(encodeInput(expected, utf8('"Ann"')));
  });

  test("of a call with a large body is the same, and shares its memory with the body that was received", async () => {
    const body = `"${"Ann".repeat(200_000)}"`;
    const command = await commandOf({ path: "/Greeter/greet", headers: json, body });
    const expected = [
      { key: "x-restate-ingress-path", value: "/Greeter/greet" },
      { key: "content-type", value: "application/json" },
      { key: "content-length", value: String(body.length) },
    ];
    const input = encodeInput(expected, utf8(body));
    expect(Buffer.compare(command.input, input)).toBe(0);
    expect(command.input.buffer.byteLength).toBeGreaterThan(input.length);
  });

  test("of a request without a body has an empty value", async () => {
    const command = await commandOf({ method: "GET", path: "/Greeter/greet" });
    expect(decodeCommand(MessageType.Input, command.input)).toMatchObject({ kind: "input", value: new Uint8Array(0) });
  });

  test("of an idempotent call has the id of target and key, and the key's retention", async () => {
    const registry = aRegistry({
      O: { type: "virtualObject", handlers: [aHandler("O", "h", { journalRetentionMs: 9, idempotencyRetentionMs: 7 })] },
    });
    const command = await commandOf({ path: "/O/k%20/h", headers: { "idempotency-key": "a b" } }, { registry });
    expect(command.id).toBe(idempotentInvocationId({ service: "O", key: "k ", handler: "h" }, "a b"));
    expect(command.facts).toMatchObject({ idempotencyKey: "a b", completionRetentionMs: 7, journalRetentionMs: 7 });
    expect(command.facts.target).toMatchObject({ key: "k ", serviceType: "virtualObject" });
  });

  test("the empty idempotency key is a key", async () => {
    const command = await commandOf({ path: "/Greeter/greet", headers: { "idempotency-key": "" } });
    expect(command.facts.idempotencyKey).toBe("");
    expect(command.id).toBe(idempotentInvocationId({ service: "Greeter", key: undefined, handler: "greet" }, ""));
  });

  test("of a workflow run has the workflow's id and retention", async () => {
    const command = await commandOf({ path: "/Wf/w1/run/send" });
    expect(command.id).toBe(workflowInvocationId("Wf", "w1"));
    expect(command.facts).toMatchObject({ completionRetentionMs: 2 * 86_400_000, journalRetentionMs: 86_400_000 });
    expect(command.facts.target.handlerType).toBe("workflow");
  });

  test("of an object is placed by its key", async () => {
    await using fixture = await startIngress();
    await using client = openClient("http/1.1", fixture.port);
    await client.send({ path: "/Counter/k/get" });
    await client.send({ path: "/Counter/k/get" });
    const [first, second] = fixture.partitions.invoked;
    expect(first!.id).not.toBe(second!.id);
    expect(partitionKeyOf(first!.id)).toBe(partitionKeyOf(second!.id));
    expect(first!.facts.requestId).not.toBe(second!.facts.requestId);
  });

  test("a request id is never 0, the number that means none", async () => {
    const zeros = { ...systemRandom, uint32: () => 0 };
    const command = await commandOf({ path: "/Greeter/greet" }, { ports: { random: zeros } });
    expect(command.facts.requestId).toBe(1);
  });

  test("a large body arrives whole", async () => {
    const body = Buffer.alloc(3_000_000, "abcdefg");
    const command = await commandOf({ path: "/Greeter/bin", headers: { "content-type": "application/octet-stream" }, body });
    const input = decodeCommand(MessageType.Input, command.input);
    expect("value" in input && Buffer.compare(input.value as Uint8Array, body)).toBe(0);
  });
});

describe("the trace", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  test("has the caller's span as parent, and the handler sees the headers too", async () => {
    const command = await commandOf({ path: "/Greeter/greet", headers: { traceparent, tracestate: "a=b" } });
    expect(command.facts.trace).toEqual({ traceparent, tracestate: "a=b" });
    expect(decodeCommand(MessageType.Input, command.input)).toMatchObject({
      headers: expect.arrayContaining([{ key: "traceparent", value: traceparent }]),
    });
  });

  test("an invalid parent is none", async () => {
    const command = await commandOf({ path: "/Greeter/greet", headers: { traceparent: "x", tracestate: "a=b" } });
    expect(command.facts.trace).toBeUndefined();
  });

  test("a tracer may put its own span in the caller's place", async () => {
    const received: unknown[] = [];
    const own = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", tracestate: undefined };
    const startSpan: StartSpan = (caller, target, id) => {
      received.push(caller, target.handler, id);
      return own;
    };
    const command = await commandOf({ path: "/Greeter/greet", headers: { traceparent } }, { ports: { startSpan } });
    expect(command.facts.trace).toBe(own);
    expect(received).toEqual([{ traceparent, tracestate: undefined }, "greet", command.id]);
  });

  test("a tracer that does not sample leaves the caller's span", async () => {
    const command = await commandOf(
      { path: "/Greeter/greet", headers: { traceparent } },
      { ports: { startSpan: () => undefined } },
    );
    expect(command.facts.trace).toEqual({ traceparent, tracestate: undefined });
  });
});

describe("the order of checks", () => {
  const longScope = "x".repeat(37);
  test.each<[string, TestRequest, number, string | RegExp]>([
    ["unknown service before path shape", { path: "/Nope/a/b/c/d" }, 404, /^service 'Nope'/],
    ["path shape before handler", { path: "/Greeter/nope/x" }, 400, /^bad path, expected either/],
    ["handler before public", { path: "/Internal/nope" }, 404, /handler 'nope' was not found/],
    ["public before idempotency key", { path: "/Internal/work", headers: { "idempotency-key": "\u00fc" } }, 400, /not public/],
    [
      "idempotency key before scope",
      { path: "/restate/scope//call/Wf/k/run", headers: { "idempotency-key": "k" } },
      400,
      /^cannot use the idempotency key/,
    ],
    [
      "scope before method",
      { method: "PUT", path: `/restate/scope/${longScope}/call/Greeter/greet` },
      400,
      /^bad scope value: value too long/,
    ],
    ["scoped object before method", { method: "PUT", path: "/restate/scope/s/call/Counter/k/add" }, 400, /Virtual Object/],
    [
      "method before input",
      { method: "PUT", path: "/Greeter/greet", headers: { "content-type": "text/plain" } },
      405,
      "method not allowed",
    ],
    [
      "input before delay",
      { path: "/Greeter/greet/send?delay=x", headers: { "content-type": "text/plain" } },
      400,
      /^input validation error/,
    ],
    ["delay before limit key", { path: "/Greeter/greet/send?delay=x&limit-key=a" }, 400, /^bad delay query parameter/],
    [
      "limit key before header values",
      { path: "/Greeter/greet?limit-key=a", headers: { "x-bad": "\u00fc" } },
      400,
      /^limit-key requires/,
    ],
    [
      "limit key before priority",
      { path: "/restate/scope/s/call/Greeter/greet?limit-key=a/b/c&priority=9" },
      400,
      /^invalid limit-key/,
    ],
    [
      "priority before header values",
      { path: "/restate/scope/s/call/Greeter/greet?priority=9", headers: { "x-bad": "\u00fc" } },
      400,
      "invalid priority: expected a whole number from 1 (first) to 5 (last)",
    ],
    [
      "a priority needs a scope",
      { path: "/Greeter/greet", headers: { "x-perdure-priority": "1" } },
      400,
      "priority requires a scope to be set",
    ],
    ["without a scope, priority in the query is the handler's", { path: "/Greeter/greet?priority=high" }, 200, ""],
    [
      "header values before delayed call",
      { path: "/Greeter/greet?delay=1s", headers: { "x-bad": "\u00fc" } },
      400,
      /^bad header x-bad/,
    ],
    ["delayed call last", { path: "/Greeter/greet?delay=1s" }, 400, /^cannot use the delay/],
    [
      "limit key header wins over the query",
      { path: "/Greeter/greet?limit-key=a/b/c", headers: { "x-restate-limit-key": "a" } },
      400,
      /^limit-key requires/,
    ],
    ["empty limit key header is none", { path: "/Greeter/greet?limit-key=a", headers: { "x-restate-limit-key": "" } }, 200, ""],
    [
      "limit key that is not text",
      { path: "/Greeter/greet", headers: { "x-restate-limit-key": "\u00fc" } },
      400,
      /^bad header x-restate-limit-key/,
    ],
  ])("%s", async (_title, request, status, message) => {
    const { answer, fixture } = await send(request);
    expect(answer.status).toBe(status);
    if (message !== "")
      expect(JSON.parse(answer.text)).toEqual({
        code: status,
        message: typeof message === "string" ? message : expect.stringMatching(message),
        source: "ingress",
      });
    expect(fixture.partitions.invoked).toHaveLength(status === 200 ? 1 : 0);
  });
});

describe("a scoped call", () => {
  const path = "/restate/scope/s1/call/Greeter/greet";

  test("has its scope in the target and in the id, and its limits in the command", async () => {
    const command = await commandOf({
      path: `${path}?limit-key=x&priority=5`,
      headers: { "x-restate-limit-key": "t/u", "x-perdure-priority": "2" },
    });
    expect(command.facts).toMatchObject({ target: { service: "Greeter", scope: "s1" }, limitKey: "t/u", priority: 2 });
    expect(partitionKeyOf(command.id)).toBe(hashString("s1"));
    const input = decodeCommand(MessageType.Input, command.input);
    if (input.kind !== "input") throw new Error("not an Input command");
    const names = input.headers.map(({ key }) => key);
    expect(names).toContain("x-restate-limit-key");
    expect(names).not.toContain("x-perdure-priority");
  });

  test("takes both from the query where the headers have neither", async () => {
    const { facts } = await commandOf({ path: `${path}?limit-key=t%2Fu&priority=1` });
    expect(facts).toMatchObject({ limitKey: "t/u", priority: 1 });
  });

  test.each(["", "?limit-key=&priority="])("has neither without header and parameter: %j", async (query) => {
    const { facts } = await commandOf({ path: `${path}${query}` });
    expect(facts).toMatchObject({ limitKey: undefined, priority: PRIORITY_DEFAULT });
  });

  test("to a workflow is another run than that without the scope", async () => {
    const run = (prefix: string) => commandOf({ path: `${prefix}/send/Wf/w/run` });
    const [scoped, other, plain] = await Promise.all(["/restate/scope/s1", "/restate/scope/s2", "/restate"].map(run));
    expect(new Set([scoped?.id, other?.id, plain?.id]).size).toBe(3);
    expect(scoped?.id).toBe(workflowInvocationId("Wf", "w", "s1"));
  });

  test("is refused where flow control is disabled, before the method is checked", async () => {
    const { answer } = await send({ method: "PUT", path }, { options: { scopesEnabled: false } });
    expect(answer).toMatchObject({ status: 400, text: expect.stringContaining("require vqueues to be enabled") });
  });
});
