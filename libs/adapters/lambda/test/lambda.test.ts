import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { fromUtf8, silentLogger, systemClock, systemRandom, utf8 } from "@perdure/base";
import type { EndpointAddress } from "@perdure/control";
import { type EndpointTransport, exchangeWhole } from "@perdure/endpoint-transport";
import { FakeTransport } from "@perdure/endpoint-transport/testing";
import { createInvoker } from "@perdure/invoker";
import { aRegistry, aTarget, FakePartition, someFacts } from "@perdure/invoker/testing";
import * as restate from "@restatedev/restate-sdk/lambda";
import { createLambdaTransport, regionOf } from "../src/index.js";
import { type FakeAws, fakeAws, type LambdaAnswer, type LambdaCall } from "./fake-aws.js";

const arn = "arn:aws:lambda:eu-central-1:123456789012:function:my-function:1";
const address: EndpointAddress = { kind: "lambda", arn, assumeRoleArn: undefined, compression: undefined };

function aTransport(aws: FakeAws, more: Parameters<typeof createLambdaTransport>[0] = {}): EndpointTransport {
  const credentials = { accessKeyId: "OWNKEY", secretAccessKey: "s" };
  return createLambdaTransport({ endpoint: aws.endpoint, stsEndpoint: aws.endpoint, credentials, ...more });
}

function invoke(transport: EndpointTransport, more: { address?: EndpointAddress; body?: Uint8Array } = {}, signal?: AbortSignal) {
  const request = { address, method: "POST", path: "/invoke/Svc/run", headers: { accept: "a/b" }, ...more } as const;
  return exchangeWhole({ transport, clock: systemClock }, request, { responseBytesMax: 32 << 20, timeoutMs: 10_000 }, signal);
}

function returning(payload: unknown): (call: LambdaCall) => Promise<LambdaAnswer> {
  return async () => ({ kind: "result", payload });
}

describe("the payload", () => {
  test("is an HTTP request and response with base64 bodies", async () => {
    await using aws = await fakeAws(
      returning({ statusCode: 201, headers: { "X-Answer": "yes" }, body: btoa("\u0000\u00ff"), isBase64Encoded: true }),
    );
    await using transport = aTransport(aws);
    const answer = await invoke(transport, { body: Uint8Array.of(0, 255, 10) });
    expect(answer).toMatchObject({ kind: "response", status: 201, headers: { "x-answer": "yes" } });
    expect(answer.kind === "response" && [...answer.body]).toEqual([0, 255]);
    expect(aws.calls).toEqual([
      {
        arn,
        event: { path: "/invoke/Svc/run", httpMethod: "POST", headers: { accept: "a/b" }, body: "AP8K", isBase64Encoded: true },
        authorization: expect.stringContaining("Credential=OWNKEY/"),
        invocationType: "RequestResponse",
      },
    ]);
    expect(aws.calls[0]?.authorization).toContain("/eu-central-1/lambda/");
  });

  test("may answer in plain text, without body or headers", async () => {
    let payload: unknown = { statusCode: 404, body: "nöpe" };
    await using aws = await fakeAws(async () => ({ kind: "result", payload }));
    await using transport = aTransport(aws);
    const text = await invoke(transport);
    expect(text.kind === "response" && [text.status, fromUtf8(text.body)]).toEqual([404, "nöpe"]);
    payload = { statusCode: 204 };
    expect(await invoke(transport)).toMatchObject({ kind: "response", status: 204, headers: {}, body: new Uint8Array() });
  });

  test("is compressed from four megabytes on where the endpoint can read it, and may be answered compressed", async () => {
    const large = new Uint8Array(4 << 20).fill(7);
    const answer = {
      statusCode: 200,
      headers: { "Content-Encoding": "ZSTD" },
      isBase64Encoded: true,
      body: zstdCompressSync("unfolded").toString("base64"),
    };
    await using aws = await fakeAws(returning(answer));
    await using transport = aTransport(aws);
    const zstd: EndpointAddress = { ...address, compression: "zstd" };
    const received = await invoke(transport, { address: zstd, body: large });
    expect(received.kind === "response" && fromUtf8(received.body)).toBe("unfolded");
    await invoke(transport, { address: zstd, body: large.subarray(1) });
    await invoke(transport, { body: large });
    const [compressed, small, unable] = aws.calls.map(({ event }) => event);
    expect(compressed?.headers).toEqual({ accept: "a/b", "accept-encoding": "zstd", "content-encoding": "zstd" });
    expect(zstdDecompressSync(Buffer.from(compressed!.body, "base64")).equals(large)).toBe(true);
    expect(small?.headers).toEqual({ accept: "a/b", "accept-encoding": "zstd" });
    expect(Buffer.from(small!.body, "base64").length).toBe(large.length - 1);
    expect(unable?.headers).toEqual({ accept: "a/b" });
  });
});

describe("failures", () => {
  test.each<[string, LambdaAnswer, string]>([
    [
      "a function error",
      { kind: "functionError", payload: { errorType: "TypeError", errorMessage: "boom" } },
      "the function failed (Unhandled): ",
    ],
    ["no JSON", { kind: "result", payload: "<html>" }, "the function did not return JSON"],
    ["no object", { kind: "result", payload: "null" }, "the function did not return an object"],
    ["no status", { kind: "result", payload: { body: "x" } }, "the function returned no statusCode"],
    [
      "a body of another kind",
      { kind: "result", payload: { statusCode: 200, body: {} } },
      "the function returned a body that is not a string",
    ],
    [
      "an unknown function",
      { kind: "refused", status: 404, type: "ResourceNotFoundException", message: "no such function" },
      "ResourceNotFoundException: ",
    ],
    [
      "throttling",
      { kind: "refused", status: 429, type: "TooManyRequestsException", message: "slow down" },
      "TooManyRequestsException: ",
    ],
  ])("%s is a client failure and is not retried", async (_what, answer, message) => {
    await using aws = await fakeAws(async () => answer);
    await using transport = aTransport(aws);
    const failed = await invoke(transport);
    expect(failed).toMatchObject({ kind: "failed", failure: { kind: "client", message: expect.stringContaining(message) } });
    expect(aws.calls.length).toBe(1);
  });

  test("a refused connection is a connect failure", async () => {
    const aws = await fakeAws(returning({}));
    await aws[Symbol.asyncDispose]();
    await using transport = aTransport(aws);
    expect(await invoke(transport)).toMatchObject({
      kind: "failed",
      failure: { kind: "connect", message: expect.stringContaining("ECONNREFUSED") },
    });
  });

  test("a name that is not that of a version of a function is refused without a request", async () => {
    await using aws = await fakeAws(returning({ statusCode: 200 }));
    await using transport = aTransport(aws);
    const unqualified: EndpointAddress = { ...address, arn: arn.slice(0, -2) };
    expect(await invoke(transport, { address: unqualified })).toMatchObject({ kind: "failed", failure: { kind: "client" } });
    expect(aws.calls).toEqual([]);
    expect([regionOf(arn), regionOf(`${arn}:x`), regionOf("arn:aws:s3:::bucket:a:b")]).toEqual([
      "eu-central-1",
      undefined,
      undefined,
    ]);
    expect(regionOf("arn:aws-cn:lambda:cn-north-1:1:function:f:$LATEST")).toBe("cn-north-1");
  });

  test("an aborted stream ends its request and reports nothing more", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await using aws = await fakeAws(async () => {
      await held;
      return { kind: "result", payload: { statusCode: 200 } };
    });
    await using transport = aTransport(aws);
    const cancel = new AbortController();
    const pending = invoke(transport, {}, cancel.signal);
    while (aws.calls.length === 0) await new Promise<void>((resolve) => setTimeout(resolve, 5));
    cancel.abort();
    expect(await pending).toMatchObject({ kind: "failed", failure: { kind: "client", message: "the request was cancelled" } });
    release();
  });
});

test("a role is assumed when the deployment has one", async () => {
  await using aws = await fakeAws(returning({ statusCode: 200 }));
  await using transport = aTransport(aws, { assumeRoleExternalId: "env_1" });
  const withRole: EndpointAddress = { ...address, assumeRoleArn: "arn:aws:iam::1:role/r" };
  await invoke(transport, { address: withRole });
  await invoke(transport, { address: withRole });
  await invoke(transport);
  expect(aws.calls.map(({ authorization }) => /Credential=([A-Z]+)/.exec(authorization)?.[1])).toEqual([
    "ROLEKEY",
    "ROLEKEY",
    "OWNKEY",
  ]);
  expect(aws.assumed.map((query) => [query.get("RoleArn"), query.get("ExternalId")])).toEqual([
    ["arn:aws:iam::1:role/r", "env_1"],
  ]);
});

test("a handler of the published SDK runs step by step through Lambda", async () => {
  const service = restate.service({
    name: "Svc",
    handlers: {
      run: async (ctx: restate.Context, name: string) => {
        const greeting = await ctx.run("greet", () => `Hello ${name}`);
        await ctx.sleep(5);
        return `${greeting}!`;
      },
    },
  });
  const handler = restate.createEndpointHandler({ services: [service], logger: () => {} });
  await using aws = await fakeAws(async ({ event }) => ({ kind: "result", payload: await handler(event, {}) }));
  await using lambda = aTransport(aws);
  const discovered = await exchangeWhole(
    { transport: lambda, clock: systemClock },
    { address, method: "GET", path: "/discover", headers: { accept: "application/vnd.restate.endpointmanifest.v4+json" } },
    { responseBytesMax: 1 << 20, timeoutMs: 10_000 },
  );
  if (discovered.kind === "failed") throw new Error(discovered.failure.message);
  const manifest = JSON.parse(fromUtf8(discovered.body));
  expect(manifest).toMatchObject({ protocolMode: "REQUEST_RESPONSE", services: [{ name: "Svc" }] });

  const partition = new FakePartition({ clock: systemClock });
  const compressed: EndpointAddress = { ...address, compression: "zstd" };
  const registry = aRegistry({
    address: compressed,
    protocolType: "requestResponse",
    services: { Svc: { handlers: { run: {} } } },
  });
  await using invoker = createInvoker({
    host: partition,
    registry,
    transports: { http: new FakeTransport(), lambda },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  partition.attach(invoker);
  const invocation = partition.invoke(someFacts({ target: aTarget() }), utf8('"Ada"'));
  const result = await partition.result(invocation.facts.id);
  expect(result.kind === "value" && fromUtf8(result.value)).toBe('"Hello Ada!"');
  expect(invocation.failures).toEqual([]);
  expect(aws.calls.length).toBe(1 + invocation.run);
});

test("T23, T24: with `rolesOnly` the process's own identity is never used, nor a role without the external id", async () => {
  await using aws = await fakeAws(returning({ statusCode: 200 }));
  const withRole: EndpointAddress = { ...address, assumeRoleArn: "arn:aws:iam::1:role/r" };
  {
    await using transport = aTransport(aws, { rolesOnly: true, assumeRoleExternalId: "env_1" });
    expect(await invoke(transport)).toMatchObject({
      kind: "failed",
      failure: { message: expect.stringContaining("without a role") },
    });
    expect(await invoke(transport, { address: withRole })).toMatchObject({ kind: "response", status: 200 });
  }
  await using transport = aTransport(aws, { rolesOnly: true });
  expect(await invoke(transport, { address: withRole })).toMatchObject({
    kind: "failed",
    failure: { message: expect.stringContaining("no external id") },
  });
  expect(aws.calls).toHaveLength(1);
  expect(aws.assumed.map((query) => query.get("ExternalId"))).toEqual(["env_1"]);
});
