/** The HTTP response of a call or send for each result. */

import { describe, expect, test } from "@jest/globals";
import { type InvocationId, silentLogger, workflowInvocationId } from "@perdure/base";
import { until } from "@perdure/testkit";
import { aHandler, aRegistry } from "../src/testing/index.js";
import { bothProtocols, openClient, type TestAnswer, type TestRequest } from "./client.js";
import { type FixtureSettings, failure, startIngress, success } from "./fixture.js";

const json = { "content-type": "application/json" };

describe.each(bothProtocols)("answers over %s", (http) => {
  async function call(settings: FixtureSettings, request: TestRequest = { path: "/Greeter/greet" }): Promise<TestAnswer> {
    await using fixture = await startIngress(settings);
    await using client = openClient(http, fixture.port);
    return await client.send(request);
  }

  test.each([
    [400, 400],
    [418, 418],
    [200, 200],
    [512, 512],
    [599, 599],
    [0, 500],
    [99, 500],
    [100, 500],
    [199, 500],
    [1000, 500],
    [4_294_967_295, 500],
  ])("a failure with code %d has status %d and says its code", async (code, status) => {
    const answer = await call({ script: () => failure(code, "why") });
    expect(answer.status).toBe(status);
    expect(answer.text).toBe(`{"code":${code},"message":"why","source":"invocation"}`);
    expect(answer.headers["x-restate-error-source"]).toBe("invocation");
    expect(answer.headers["x-restate-id"]).toMatch(/^inv_1/);
  });

  test.each([600, 999])("code %d goes out where the protocol's library allows it", async (code) => {
    const answer = await call({ script: () => failure(code, "why") });
    expect(answer.status).toBe(http === "h2c" ? 500 : code);
    expect(JSON.parse(answer.text).code).toBe(code);
  });

  test.each([204, 205, 304])("code %d has no body, as its status demands", async (code) => {
    const answer = await call({ script: () => failure(code, "why") });
    expect(answer.status).toBe(code);
    expect(answer.text).toBe("");
    expect(answer.headers["x-restate-error-source"]).toBe("invocation");
  });

  test("a failure may carry metadata and a stack trace; text is escaped", async () => {
    const answer = await call({ script: () => failure(500, 'a "b"\n\u2028ü', { 'k"': "v", k: "ü" }, "at x\n at y") });
    expect(answer.text).toBe(
      '{"code":500,"message":"a \\"b\\"\\n\u2028ü","stacktrace":"at x\\n at y","metadata":{"k\\"":"v","k":"ü"},"source":"invocation"}',
    );
    expect(answer.headers["content-length"]).toBe(String(answer.body.length));
  });

  test("a repeated metadata key keeps its last value", async () => {
    const twice = [
      { key: "k", value: "1" },
      { key: "k", value: "2" },
    ];
    const answer = await call({
      script: () => ({ kind: "failure", failure: { code: 500, message: "m", metadata: twice }, stacktrace: undefined }),
    });
    expect(answer.text).toBe('{"code":500,"message":"m","metadata":{"k":"2"},"source":"invocation"}');
  });

  test.each([0, 1, 4096, 4097, 2_000_000])("a value of %d bytes arrives whole", async (size) => {
    const value = Buffer.alloc(size);
    for (let i = 0; i < size; i++) value[i] = i * 31;
    const answer = await call({ script: () => ({ kind: "success", value }) });
    expect(Buffer.compare(answer.body, value)).toBe(0);
    expect(answer.headers["content-length"]).toBe(String(size));
    expect(answer.headers["content-type"]).toBe(size === 0 ? undefined : "application/json");
  });

  test("an empty value has a content type when the handler declares one", async () => {
    const output = { contentType: "text/x", setContentTypeIfEmpty: true };
    const registry = aRegistry({ S: { type: "service", handlers: [aHandler("S", "h", { output })] } });
    const answer = await call({ registry, script: () => success("") }, { path: "/S/h" });
    expect(answer.headers["content-type"]).toBe("text/x");
  });

  test("a handler that declares no content type gets none", async () => {
    const output = { contentType: undefined, setContentTypeIfEmpty: false };
    const registry = aRegistry({ S: { type: "service", handlers: [aHandler("S", "h", { output })] } });
    const answer = await call({ registry, script: () => success("x") }, { path: "/S/h" });
    expect(answer.headers["content-type"]).toBeUndefined();
    expect(answer.text).toBe("x");
  });

  test("a content type that cannot be sent is omitted", async () => {
    const output = { contentType: "a\nb", setContentTypeIfEmpty: false };
    const registry = aRegistry({ S: { type: "service", handlers: [aHandler("S", "h", { output })] } });
    const answer = await call({ registry, script: () => success("x") }, { path: "/S/h" });
    expect(answer).toMatchObject({ status: 200, text: "x" });
    expect(answer.headers["content-type"]).toBeUndefined();
  });

  test("the content type is that of the latest revision when the result comes", async () => {
    const of = (contentType: string) => aHandler("S", "h", { output: { contentType, setContentTypeIfEmpty: false } });
    const registry = aRegistry({ S: { type: "service", handlers: [of("a/old")] } });
    const later = aRegistry({ S: { type: "service", handlers: [of("a/new")] } });
    await using fixture = await startIngress({ registry, script: () => "pending" });
    await using client = openClient(http, fixture.port);
    const response = client.send({ path: "/S/h" });
    await until(() => fixture.partitions.invoked.length === 1, "the call is submitted");
    registry.replace(later.current().services);
    fixture.partitions.complete(fixture.partitions.invoked[0]!.id, success("x"));
    expect((await response).headers["content-type"]).toBe("a/new");
  });

  test("a handler removed since still completes, with its former type", async () => {
    await using fixture = await startIngress({ script: () => "pending" });
    await using client = openClient(http, fixture.port);
    const response = client.send({ path: "/Greeter/greet" });
    await until(() => fixture.partitions.invoked.length === 1, "the call is submitted");
    fixture.partitions.complete(fixture.partitions.invoked[0]!.id, success("x"));
    expect(await response).toMatchObject({ status: 200, text: "x" });
  });

  test("a second caller with the same key waits for the first one's result", async () => {
    await using fixture = await startIngress({ script: () => "pending" });
    await using client = openClient(http, fixture.port);
    const request = { path: "/Greeter/greet", headers: { "idempotency-key": "k" } };
    const both = [client.send(request), client.send(request)];
    await until(() => fixture.partitions.invoked.length === 2, "both are submitted");
    const id = fixture.partitions.invoked[0]!.id;
    fixture.partitions.complete(id, success("x"));
    for (const answer of await Promise.all(both)) {
      expect(answer).toMatchObject({ status: 200, text: "x" });
      expect(answer.headers["x-restate-id"]).toBe(id);
    }
  });

  test("a second call of a workflow's run is 409 at once and does not get the outcome", async () => {
    await using fixture = await startIngress({ script: () => "pending" });
    await using client = openClient(http, fixture.port);
    const first = client.send({ path: "/Wf/w/run" });
    await until(() => fixture.partitions.invoked.length === 1, "the run is submitted");
    const second = await client.send({ path: "/Wf/w/run" });
    expect(second).toMatchObject({
      status: 409,
      text: '{"code":409,"message":"the workflow method was already invoked","source":"invocation"}',
    });
    const id = workflowInvocationId("Wf", "w");
    expect(second.headers["x-restate-id"]).toBe(id);
    expect(fixture.partitions.waiting.get(id)?.size).toBe(1);
    fixture.partitions.complete(id, success("x"));
    expect((await first).status).toBe(200);
  });

  test("an unreachable partition is 503, and the text states what a retry may do", async () => {
    await using fixture = await startIngress();
    fixture.partitions.down = "no leader";
    await using client = openClient(http, fixture.port);
    const id = "inv_16vnR5MzgZWy3eOFa6NVfCXO0sW91TJz4N" as InvocationId;
    const invoking =
      "If the request has an 'idempotency-key', it can be safely retried, otherwise submitting it again may result in executing the invocation twice.";
    const reading = "You may safely retry the request.";
    const completing = "Submitting the request again may result in executing the operation twice.";
    for (const [method, path, advice] of [
      ["POST", "/Greeter/greet", invoking],
      ["POST", "/Greeter/greet/send", invoking],
      ["GET", `/restate/attach/${id}`, reading],
      ["GET", `/restate/output/${id}`, reading],
      ["POST", "/restate/a/sign_1rk7BEYP5kXXxN8KZ7MaT5bDMAVlK09uoAAAAEQ/resolve", completing],
    ] as const) {
      const answer = await client.send({ method, path });
      expect(answer.status).toBe(503);
      expect(JSON.parse(answer.text)).toEqual({
        code: 503,
        message: `internal routing error: no leader. ${advice}`,
        source: "ingress",
      });
      expect(answer.headers["x-restate-error-source"]).toBe("ingress");
    }
  });

  test("a bug in a port is 500, is logged, and affects no other request", async () => {
    await using fixture = await startIngress();
    fixture.partitions.invoke = () => {
      throw new TypeError("oops");
    };
    await using client = openClient(http, fixture.port);
    const answer = await client.send({ path: "/Greeter/greet", headers: json, body: "1" });
    expect(answer).toMatchObject({ status: 500, text: '{"code":500,"message":"internal error","source":"ingress"}' });
    expect(fixture.complaints).toMatchObject([{ message: "request handling failed", fields: { kind: "call" } }]);
    expect((await client.send({ method: "GET", path: "/restate/health" })).status).toBe(200);
  });

  test("a bug in the registry is 500 too", async () => {
    const registry = {
      current: () => {
        throw new TypeError("oops");
      },
      onChange: () => () => undefined,
    };
    const answer = await call({ registry, ports: { logger: silentLogger } });
    expect(answer.status).toBe(500);
  });
});
