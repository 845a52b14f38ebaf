/** One trace through every process of a cluster: management and database, ingress, Redis, attempts, a child, and the SDK's own. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DevCluster } from "@perdure/dev-cluster";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, TestIngressClient } from "../../src/index.js";
import { Collector, type Span } from "./collector.js";

const START_MS = 240_000;
const CALLER = "b7ad6b7169203331";
const REGISTERING = "0af7651916cd43dd8448eb211c80319c";
const CALLING = "1af7651916cd43dd8448eb211c80319c";
const UNKEPT = "2af7651916cd43dd8448eb211c80319c";

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

const requests: { readonly path: string; readonly traceparent: string; readonly baggage: string | undefined }[] = [];
let receivedBaggage: string | undefined = "nothing was seen";
let failures = 0;
const leaf = service({ name: "Leaf", handlers: { work: async () => "leaf", note: async () => undefined } });
const tree = service({
  name: "Tree",
  handlers: {
    run: async (ctx: Context) => {
      receivedBaggage = ctx.request().headers.get("baggage");
      ctx.serviceSendClient(leaf).note();
      return await ctx.serviceClient(leaf).work();
    },
    failOnce: async () => {
      if (++failures === 1) throw new Error("the first attempt fails");
      return "done";
    },
  },
  options: { retryPolicy: { initialInterval: 5, maxInterval: 10 } },
});

const close = new AsyncDisposableStack();
let collector: Collector;
let owners: Collector;
let endpoint: SdkEndpoint;
let cluster: DevCluster;
let ingress: TestIngressClient;
beforeAll(async () => {
  collector = close.use(await Collector.start());
  owners = close.use(await Collector.start());
  const opened = await SdkEndpoint.start({
    services: [tree, leaf],
    onRequest: (path, { traceparent, baggage }) => {
      if (path.startsWith("/invoke/"))
        requests.push({ path, traceparent: String(traceparent), baggage: baggage as string | undefined });
    },
  });
  endpoint = close.use(opened);
  const traced = { "tracing-endpoint": collector.url, "tracing-sample-ratio": 0 };
  const dataPath = { ...traced, "tracing-services-endpoint": owners.url };
  const started = await DevCluster.start({
    workers: 1,
    gateways: 1,
    settings: {
      registry: traced,
      "admin-api": traced,
      "invoker-worker": { ...dataPath, "tracing-commits": "true" },
      "ingress-gateway": dataPath,
    },
  });
  cluster = close.use(started);
  ingress = close.use(new TestIngressClient(cluster.ingressUrls[0] as string));
}, START_MS);
afterAll(() => close.disposeAsync(), START_MS);

const of = (trace: string, { spans }: Collector = collector): readonly Span[] => spans.filter(({ traceId }) => traceId === trace);
const named = (trace: string, name: string): readonly Span[] => of(trace).filter((span) => span.name === name);

/** Processes send what they have every few seconds. */
async function untilRecorded(trace: string, ...names: readonly string[]): Promise<void> {
  await eventually(`spans ${names.join(", ")}`, async () => names.every((name) => named(trace, name).length > 0));
}

describe("a trace of a cluster", () => {
  test(
    "leads from the management API over gRPC to the statements of the registry",
    async () => {
      const response = await fetch(`${cluster.adminUrl}/deployments`, {
        method: "POST",
        headers: { "content-type": "application/json", traceparent: `00-${REGISTERING}-${CALLER}-01` },
        body: JSON.stringify({ uri: endpoint.url, use_http_11: endpoint.usesHttp11 }),
      });
      expect(response.status).toBe(201);
      await untilRecorded(REGISTERING, "POST /deployments", "perdure.control.v1.Registry/RegisterDeployment", "SELECT write");
      const [edge] = named(REGISTERING, "POST /deployments");
      expect(edge).toMatchObject({ kind: SERVER, parentSpanId: CALLER, service: "admin-api" });
      expect(edge?.attributes).toMatchObject({
        "http.request.method": "POST",
        "url.scheme": "http",
        "http.route": "/deployments",
      });
      const calls = named(REGISTERING, "perdure.control.v1.Registry/RegisterDeployment");
      const clientSpan = calls.find(({ kind }) => kind === CLIENT);
      const serverSpan = calls.find(({ kind }) => kind === SERVER);
      expect(clientSpan).toMatchObject({ parentSpanId: edge?.spanId, service: "admin-api" });
      expect(serverSpan).toMatchObject({ parentSpanId: clientSpan?.spanId, service: "registry" });
      expect(serverSpan?.attributes).toMatchObject({
        "rpc.system": "grpc",
        "rpc.method": "RegisterDeployment",
        "rpc.grpc.status_code": 0,
      });
      const statements = of(REGISTERING).filter(({ attributes }) => attributes["db.system.name"] === "postgresql");
      for (const { kind, parentSpanId, service, attributes } of statements) {
        expect([kind, parentSpanId, service]).toEqual([CLIENT, serverSpan?.spanId, "registry"]);
        expect(Object.keys(attributes).toSorted()).toEqual(["db.collection.name", "db.operation.name", "db.system.name"]);
      }
    },
    START_MS,
  );

  test(
    "leads from the caller through ingress, Redis and attempts to the SDK and its callee, and to the owner of the services",
    async () => {
      const headers = { traceparent: `00-${CALLING}-${CALLER}-01`, baggage: "tenant=somebody" };
      await eventually("the handler can be called", async () => (await ingress.call(["Leaf", "work"], null)).status === 200);
      expect(await ingress.result(["Tree", "run"], null, { headers })).toBe("leaf");
      await untilRecorded(
        CALLING,
        "POST /{service}/{handler}",
        "invocation-end Tree/run",
        "invocation-end Leaf/work",
        "COMMIT partition",
      );

      const [edge] = named(CALLING, "POST /{service}/{handler}");
      expect(edge).toMatchObject({ kind: SERVER, parentSpanId: CALLER, service: "ingress-gateway", status: 0 });
      expect(edge?.attributes).toMatchObject({
        "http.request.method": "POST",
        "url.scheme": "http",
        "http.response.status_code": expect.anything(),
      });
      const [start] = named(CALLING, "invocation-start Tree/run");
      expect(start).toMatchObject({ kind: INTERNAL, parentSpanId: edge?.spanId, service: "ingress-gateway" });
      const [attempt] = named(CALLING, "invocation-attempt Tree/run");
      expect(attempt).toMatchObject({ kind: CLIENT, parentSpanId: start?.spanId, service: "invoker-worker", status: 0 });
      expect(attempt?.attributes).toMatchObject({
        "rpc.service": "Tree",
        "rpc.method": "run",
        "server.address": "127.0.0.1",
        "perdure.attempt.result": "ended",
        "perdure.attempt": expect.anything(),
        "perdure.deployment.id": expect.stringMatching(/^dp_/),
        "perdure.invocation.id": expect.stringMatching(/^inv_/),
      });
      const [end] = named(CALLING, "invocation-end Tree/run");
      expect(end).toMatchObject({ kind: INTERNAL, parentSpanId: start?.spanId });
      expect(end?.attributes).toMatchObject({ "perdure.invocation.result": "success" });
      const [leafStart] = named(CALLING, "invocation-start Leaf/work");
      const [leafAttempt] = named(CALLING, "invocation-attempt Leaf/work");
      expect(leafStart).toMatchObject({ parentSpanId: start?.spanId, service: "invoker-worker" });
      expect(leafAttempt).toMatchObject({ parentSpanId: leafStart?.spanId });
      for (const { kind, service, attributes } of named(CALLING, "COMMIT partition")) {
        expect([kind, service, attributes["db.system.name"]]).toEqual([CLIENT, "invoker-worker", "redis"]);
      }

      // The SDK got the ids of its own attempts, and no baggage of the caller's tracer.
      const invocations = requests.filter(({ traceparent }) => traceparent.includes(CALLING));
      expect(invocations.map(({ path, traceparent, baggage }) => [path, traceparent, baggage])).toEqual([
        ["/invoke/Tree/run", `00-${CALLING}-${attempt?.spanId}-01`, undefined],
        ["/invoke/Leaf/work", `00-${CALLING}-${leafAttempt?.spanId}-01`, undefined],
      ]);
      expect(receivedBaggage).toBeUndefined();

      // The owner of the services gets the spans of invocations and no others.
      await eventually("their owner has them", async () =>
        of(CALLING, owners).some(({ name }) => name === "invocation-end Tree/run"),
      );
      expect(of(CALLING, owners).filter(({ name }) => !name.startsWith("invocation-"))).toEqual([]);
    },
    START_MS,
  );

  test(
    "of what is only sent is another, which names its sender's",
    async () => {
      const [start] = named(CALLING, "invocation-start Tree/run");
      const sent = (): Span | undefined => collector.spans.find(({ name }) => name === "invocation-start Leaf/note");
      await eventually("the callee's start", async () => sent() !== undefined);
      expect(sent()).toMatchObject({ parentSpanId: undefined, links: [{ traceId: CALLING, spanId: start?.spanId }] });
      expect(sent()?.traceId).not.toBe(CALLING);
    },
    START_MS,
  );

  test(
    "that is not sampled is kept where it fails, and where its caller requests it",
    async () => {
      const unwanted = { headers: { traceparent: `00-${UNKEPT}-${CALLER}-00` } };
      expect(await ingress.result(["Tree", "failOnce"], null, unwanted)).toBe("done");
      await untilRecorded(UNKEPT, "invocation-attempt Tree/failOnce");
      const attempts = named(UNKEPT, "invocation-attempt Tree/failOnce");
      expect(attempts.map(({ status, attributes }) => [status, attributes["perdure.attempt.result"]])).toEqual([
        [ERROR, "failed"],
      ]);
      expect(named(UNKEPT, "invocation-start Tree/failOnce")).toHaveLength(1);

      const before = collector.spans.length;
      expect(await ingress.result(["Leaf", "work"], null)).toBe("leaf");
      expect(await ingress.result(["Leaf", "work"], null, { headers: { "x-perdure-trace": "1" } })).toBe("leaf");
      const since = (name: string): readonly Span[] => collector.spans.slice(before).filter((span) => span.name === name);
      const edge = "POST /{service}/{handler}";
      await eventually("the wanted trace", async () => since(edge).length > 0 && since("invocation-end Leaf/work").length > 0);
      expect(since(edge)).toHaveLength(1);
    },
    START_MS,
  );
});
