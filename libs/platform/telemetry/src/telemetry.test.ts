import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { noTracer, type SpanRecord, startTelemetry } from "./telemetry.js";

const span: SpanRecord = {
  name: "invocation-attempt Greeter/greet",
  kind: "client",
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentSpanId: "00f067aa0ba902b7",
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_012.5,
  attributes: { "perdure.attempt": 2, "perdure.deployment.id": "dp_1" },
  error: "connection refused",
};

interface Export {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

describe("telemetry", () => {
  let collector: Server;
  let exports: Export[];

  beforeEach(async () => {
    exports = [];
    collector = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = JSON.parse(Buffer.concat(chunks).toString());
        exports.push({ path: request.url ?? "", authorization: request.headers.authorization, body });
        response.setHeader("content-type", "application/json").end("{}");
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  });

  afterEach(() => new Promise<void>((resolve) => void collector.close(() => resolve())));

  const start = (suffix = "") =>
    startTelemetry({
      endpoint: `http://127.0.0.1:${(collector.address() as AddressInfo).port}${suffix}`,
      headers: { authorization: "Bearer t" },
      resource: { "service.name": "standalone", "perdure.environment.id": "env_2abc" },
      logger: silentLogger,
    });

  test("a recorded span arrives at the collector with the ids, times and parent it was given", async () => {
    const telemetry = await start();
    expect(telemetry.tracer.enabled).toBe(true);
    telemetry.tracer.record(span);
    telemetry.tracer.record({ ...span, parentSpanId: undefined, error: undefined });
    await telemetry[Symbol.asyncDispose]();

    expect(exports).toHaveLength(1);
    expect(exports[0]).toMatchObject({ path: "/v1/traces", authorization: "Bearer t" });
    const first = {
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId,
      name: span.name,
      kind: 3,
      startTimeUnixNano: "1700000000000250000",
      endTimeUnixNano: "1700000000012500000",
      status: { code: 2, message: "connection refused" },
      attributes: expect.arrayContaining([{ key: "perdure.attempt", value: { intValue: 2 } }]),
    };
    const second = { spanId: span.spanId, status: { code: 0 } };
    const attributes = [
      { key: "service.name", value: { stringValue: "standalone" } },
      { key: "perdure.environment.id", value: { stringValue: "env_2abc" } },
      { key: "telemetry.sdk.name", value: { stringValue: "opentelemetry" } },
      { key: "telemetry.sdk.language", value: { stringValue: "nodejs" } },
      { key: "telemetry.sdk.version", value: { stringValue: expect.stringMatching(/^\d+\.\d+/) } },
    ];
    const resource = { attributes: expect.arrayContaining(attributes) };
    expect(exports[0]!.body).toMatchObject({ resourceSpans: [{ resource, scopeSpans: [{ spans: [first, second] }] }] });
    expect(exports[0]!.body).not.toHaveProperty("resourceSpans.0.scopeSpans.0.spans.1.parentSpanId");
  });

  test("a path of the endpoint is kept", async () => {
    const telemetry = await start("/custom/traces");
    telemetry.tracer.record(span);
    await telemetry[Symbol.asyncDispose]();
    expect(exports.map((one) => one.path)).toEqual(["/custom/traces"]);
  });

  test.each(["localhost:4318", "grpc://localhost:4317", ""])(
    "%j is refused: it is not an address of a collector",
    async (endpoint) => {
      const refused = startTelemetry({ endpoint, headers: {}, resource: {}, logger: silentLogger });
      await expect(refused).rejects.toMatchObject({ code: "RT0002", detail: expect.stringContaining("'tracing-endpoint'") });
    },
  );

  test("without a collector nothing is traced", () => {
    expect(noTracer.enabled).toBe(false);
    expect(() => noTracer.record(span)).not.toThrow();
  });
});
