/** One trace from the caller through ingress, attempts and a call between handlers to the SDK, which gets the id of its attempt. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Context, service } from "@restatedev/restate-sdk";
import { SdkEndpoint, Server, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { Collector, type Span } from "./collector.js";

const START_MS = 120_000;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

let childAttempts = 0;
const child = service({
  name: "Child",
  handlers: {
    work: async (_ctx: Context, name: string) => {
      if (++childAttempts === 1) throw new Error("the first attempt fails");
      return `hello ${name}`;
    },
  },
  options: { retryPolicy: { initialInterval: 5, maxInterval: 10 } },
});
const parent = service({
  name: "Parent",
  handlers: { run: async (ctx: Context, name: string) => ctx.serviceClient(child).work(name) },
});

let collector: Collector;
let endpoint: SdkEndpoint;
let server: Server;
/** Requests of attempts, in order. */
const requests: { readonly path: string; readonly traceparent: string }[] = [];
beforeAll(async () => {
  collector = await Collector.start();
  endpoint = await SdkEndpoint.start({
    services: [parent, child],
    onRequest: (path, headers) => {
      if (path.startsWith("/invoke/")) requests.push({ path, traceparent: String(headers["traceparent"]) });
    },
  });
  server = await Server.start({ settings: { "tracing-endpoint": collector.url } });
}, START_MS);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
}, START_MS);

test(
  "a call with a child that needs two attempts is one tree under its caller's span",
  async () => {
    using admin = new TestAdminClient(server.adminUrl);
    await admin.register({ uri: endpoint.url });
    using caller = new TestIngressClient(server.ingressUrl);
    const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
    expect(await caller.result(["Parent", "run"], "you", { headers })).toBe("hello you");
    await server.stop(); // It sends what it has before it ends.

    const { spans } = collector;
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    const named = (name: string): readonly Span[] =>
      spans.filter((span) => span.name === name).toSorted((a, b) => Number(a.startNanos - b.startNanos));
    expect(spans[0]?.resource).toMatchObject({
      "service.namespace": "localcluster",
      "service.instance.id": expect.stringMatching(/^[0-9a-f-]{36}$/),
      "telemetry.sdk.name": "opentelemetry",
    });
    expect(spans.some(({ startNanos, endNanos }) => startNanos % 1_000_000n !== 0n || endNanos % 1_000_000n !== 0n)).toBe(true);
    const [parentStart, ...noMore] = named("invocation-start Parent/run");
    const [childStart, ...norMore] = named("invocation-start Child/work");
    expect([noMore, norMore]).toEqual([[], []]);
    const [edge] = named("POST /{service}/{handler}");
    expect(edge).toMatchObject({ parentSpanId: CALLER, kind: SERVER, status: 0 });
    expect(edge?.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/{service}/{handler}",
      "url.path": "/{service}/{handler}",
      "url.scheme": "http",
      "server.address": "127.0.0.1",
      "server.port": expect.anything(),
      "network.protocol.version": "1.1",
      "http.response.status_code": expect.anything(),
    });
    expect(parentStart).toMatchObject({ parentSpanId: edge?.spanId, kind: INTERNAL, service: "standalone" });
    expect(childStart).toMatchObject({ parentSpanId: parentStart?.spanId, kind: INTERNAL });
    expect(parentStart?.attributes).toMatchObject({
      "perdure.invocation.target": "Parent/run",
      "rpc.service": "Parent",
      "rpc.method": "run",
      "perdure.invocation.id": expect.stringMatching(/^inv_/),
    });

    const parentAttempts = named("invocation-attempt Parent/run");
    const attempts = named("invocation-attempt Child/work");
    expect(parentAttempts.map(({ parentSpanId, kind, status }) => [parentSpanId, kind, status])).toEqual([
      [parentStart?.spanId, CLIENT, 0],
    ]);
    expect(attempts.map(({ parentSpanId, kind, status }) => [parentSpanId, kind, status])).toEqual([
      [childStart?.spanId, CLIENT, ERROR],
      [childStart?.spanId, CLIENT, 0],
    ]);
    expect(attempts.map(({ attributes }) => [attributes["perdure.attempt.result"], attributes["error.type"]])).toEqual([
      ["failed", expect.stringMatching(/^RT\d{4}$/)],
      ["ended", undefined],
    ]);
    for (const { attributes, startNanos, endNanos } of [...parentAttempts, ...attempts]) {
      expect(attributes).toMatchObject({ "server.address": "127.0.0.1", "server.port": expect.anything() });
      expect(endNanos >= startNanos).toBe(true);
    }
    for (const name of ["Parent/run", "Child/work"]) {
      const [start] = named(`invocation-start ${name}`);
      expect(named(`invocation-end ${name}`)).toMatchObject([{ parentSpanId: start?.spanId, kind: INTERNAL, status: 0 }]);
    }
    expect(spans).toHaveLength(8);

    // The SDK nests its own spans under the attempt's, whose id it got.
    expect(requests.map(({ path, traceparent }) => [path, traceparent])).toEqual([
      ["/invoke/Parent/run", `00-${TRACE}-${parentAttempts[0]?.spanId}-01`],
      ["/invoke/Child/work", `00-${TRACE}-${attempts[0]?.spanId}-01`],
      ["/invoke/Child/work", `00-${TRACE}-${attempts[1]?.spanId}-01`],
    ]);
  },
  START_MS,
);
