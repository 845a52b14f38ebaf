import { describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { EndpointStream, EndpointTransport, StreamListener, StreamRequest } from "@perdure/endpoint-transport";
import type { Invocation, Source, Target } from "@perdure/state-machine";
import { Sampler } from "./sampling.js";
import type { SpanRecord } from "./telemetry.js";
import { invocationSpans, recordSpans, tracedTransport } from "./tracing.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN = "b7ad6b7169203331";
const INVOCATION_SPAN = "00f067aa0ba902b7";
const ATTEMPT_SPAN = "1111111111111111";
const target: Target = {
  scope: undefined,
  service: "Greeter",
  key: undefined,
  handler: "greet",
  serviceType: "service",
  handlerType: "shared",
};
const id = newInvocationId({ service: "Greeter", key: undefined, handler: "greet" }, 0, systemRandom);
const callerId = newInvocationId({ service: "Caller", key: undefined, handler: "run" }, 0, systemRandom);

function aTracer() {
  const spans: SpanRecord[] = [];
  const tracer = { enabled: true, record: (span: SpanRecord) => void spans.push(span) };
  const sampler = new Sampler({ ratio: 1 }, systemRandom);
  return { spans, ports: { tracer, sampler, clock: systemClock, random: systemRandom, logger: silentLogger } };
}

describe("the start of an invocation", () => {
  test("joins the caller's trace as a child of its span", () => {
    const { spans, ports } = aTracer();
    const context = invocationSpans(ports)({ traceparent: `00-${TRACE}-${CALLER_SPAN}-01`, tracestate: "a=b" }, target, id);
    expect(context?.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    expect(context?.tracestate).toBe("a=b");
    expect(spans).toHaveLength(1);
    expect(spans[0]).toMatchObject({
      name: "invocation-start Greeter/greet",
      traceId: TRACE,
      parentSpanId: CALLER_SPAN,
      attributes: { "perdure.invocation.id": id },
    });
    expect(context?.traceparent.split("-")[2]).toBe(spans[0]!.spanId);
  });

  test("begins a trace of its own without a caller's, and for a caller's that cannot be read", () => {
    const { spans, ports } = aTracer();
    for (const caller of [undefined, { traceparent: "nonsense", tracestate: undefined }]) {
      const context = invocationSpans(ports)(caller, target, id);
      expect(context?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    }
    expect(spans.map((span) => span.parentSpanId)).toEqual([undefined, undefined]);
    expect(spans[0]!.traceId).not.toBe(spans[1]!.traceId);
  });

  test("records nothing of a trace that is not sampled, and leaves it so", () => {
    const { spans, ports } = aTracer();
    const context = invocationSpans(ports)({ traceparent: `00-${TRACE}-${CALLER_SPAN}-00`, tracestate: undefined }, target, id);
    expect(context?.traceparent).toMatch(/-00$/);
    expect(spans).toEqual([]);
  });
});

describe("a record of a topic", () => {
  const record = { topic: "orders", partition: 3, offset: 42 };

  test("begins the trace of its invocation, with its topic and offset, and links to its producer's", () => {
    const { spans, ports } = aTracer();
    const context = recordSpans(ports)({ ...record, traceparent: `00-${TRACE}-${CALLER_SPAN}-01` }, id, target);
    expect(spans).toEqual([
      expect.objectContaining({
        name: "process orders",
        kind: "consumer",
        parentSpanId: undefined,
        links: [{ traceId: TRACE, spanId: CALLER_SPAN }],
        attributes: expect.objectContaining({
          "messaging.system": "kafka",
          "messaging.destination.name": "orders",
          "messaging.destination.partition.id": "3",
          "messaging.operation.type": "process",
          "messaging.kafka.offset": 42,
          "perdure.invocation.id": id,
        }),
      }),
    ]);
    const [span] = spans;
    expect(span?.traceId).not.toBe(TRACE);
    expect(context.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  });

  test("of an untraced producer links to none, and in a trace that is not kept leaves no span", () => {
    const { spans, ports } = aTracer();
    recordSpans(ports)(record, id, target);
    expect(spans.map(({ links }) => links)).toEqual([undefined]);
    const context = recordSpans(ports)({ ...record, traceparent: `00-${TRACE}-${CALLER_SPAN}-00` }, id, target);
    expect([spans.length, context.traceparent.slice(-3)]).toEqual([1, "-00"]);
  });
});

class FakeTransport implements EndpointTransport {
  listener: StreamListener | undefined;
  readonly calls: string[] = [];
  open(_request: StreamRequest, listener: StreamListener): EndpointStream {
    this.listener = listener;
    return {
      write: () => this.calls.push("write") > 0,
      end: () => void this.calls.push("end"),
      abort: () => void this.calls.push("abort"),
      pauseReading: () => void this.calls.push("pauseReading"),
      resumeReading: () => void this.calls.push("resumeReading"),
    };
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.calls.push("dispose");
  }
}

function invocationOf(invocationId: InvocationId, span: string, source: Source): Invocation {
  const facts = {
    id: invocationId,
    target,
    source,
    createdAtMs: 1234,
    trace: { traceparent: `00-${TRACE}-${span}-01`, tracestate: undefined },
  };
  return { facts, run: 1, pinned: { deploymentId: "dp_1", protocolVersion: 6 } } as unknown as Invocation;
}

function anAttempt(
  invocations: readonly Invocation[],
  headers: Record<string, string> = {},
  more: Pick<StreamRequest, "lost"> = {},
) {
  const { spans, ports } = aTracer();
  const partitions = {
    describe: async (requestedId: InvocationId) => invocations.find((invocation) => invocation.facts.id === requestedId),
  } as unknown as Partitions;
  const inner = new FakeTransport();
  const transport = tracedTransport(inner, partitions, ports);
  const events: string[] = [];
  const listener: StreamListener = {
    response: (status) => void events.push(`response ${status}`),
    data: () => void events.push("data"),
    end: () => void events.push("end"),
    failed: ({ kind }) => void events.push(`failed ${kind}`),
    drain: () => void events.push("drain"),
  };
  const open = () =>
    transport.open(
      {
        address: { kind: "http", uri: "http://endpoint:9080", httpVersion: "HTTP/2.0" },
        method: "POST",
        path: "/invoke/Greeter/greet",
        headers: { "x-restate-invocation-id": id, traceparent: `00-${TRACE}-${ATTEMPT_SPAN}-01`, ...headers },
        requestResponse: false,
        invocationTraceparent: `00-${TRACE}-${INVOCATION_SPAN}-01`,
        ...more,
      },
      listener,
    );
  return { spans, transport, inner, events, open };
}

function answer500(inner: FakeTransport): void {
  inner.listener?.response(500, {});
  inner.listener?.end();
}

const nextTick = () => new Promise<void>((resolve) => void setImmediate(resolve));

describe("an attempt", () => {
  const ingressInvocation = invocationOf(id, INVOCATION_SPAN, { kind: "ingress" });

  test("leaves a span under the invocation's, with the ids the endpoint got, once", async () => {
    const { spans, inner, events, open } = anAttempt([ingressInvocation]);
    const stream = open();
    inner.listener?.response(200, {});
    inner.listener?.data(new Uint8Array());
    inner.listener?.drain();
    inner.listener?.end();
    stream.abort();
    await nextTick();
    expect(events).toEqual(["response 200", "data", "drain", "end"]);
    expect(spans).toHaveLength(1);
    expect(spans[0]).toMatchObject({
      name: "invocation-attempt Greeter/greet",
      kind: "client",
      traceId: TRACE,
      spanId: ATTEMPT_SPAN,
      parentSpanId: INVOCATION_SPAN,
      error: undefined,
      attributes: {
        "perdure.deployment.id": "dp_1",
        "perdure.protocol.version": 6,
        "server.address": "endpoint",
        "server.port": 9080,
      },
    });
  });

  test.each([
    ["a broken connection", (inner: FakeTransport) => inner.listener?.failed({ kind: "reset", message: "gone" }), "reset"],
    ["an answer of 500", answer500, "HTTP 500"],
  ])("that ends with %s is an error", async (_, end, error) => {
    const { spans, inner, open } = anAttempt([ingressInvocation]);
    open();
    end(inner);
    await nextTick();
    expect(spans.map((span) => span.error)).toEqual([error]);
  });

  test.each([
    ["ended", undefined, undefined],
    ["suspended", undefined, undefined],
    ["failed", "RT0007", "RT0007"],
  ] as const)("that has %s shows it, whatever becomes of its stream afterwards", async (how, errorCode, error) => {
    const { spans, inner, open } = anAttempt([ingressInvocation]);
    const stream = open();
    inner.listener?.response(200, {});
    stream.concluded?.(how, errorCode);
    stream.abort();
    await nextTick();
    expect(spans.map((span) => [span.error, span.attributes["perdure.attempt.result"], span.attributes["error.type"]])).toEqual([
      [error, how, error],
    ]);
  });

  test("that is aborted shows it, and its stream still gets every call", async () => {
    const { spans, inner, open } = anAttempt([ingressInvocation]);
    const stream = open();
    stream.write(new Uint8Array());
    stream.pauseReading();
    stream.resumeReading();
    stream.end();
    stream.abort();
    await nextTick();
    expect(inner.calls).toEqual(["write", "pauseReading", "resumeReading", "end", "abort"]);
    expect(spans.map((span) => span.error)).toEqual(["aborted"]);
  });

  test("of an invocation that a handler called records its start too, under the caller's, once", async () => {
    const called = invocationOf(id, INVOCATION_SPAN, { kind: "service", callerId, callerTarget: target });
    const caller = invocationOf(callerId, CALLER_SPAN, { kind: "ingress" });
    const { spans, inner, open } = anAttempt([called, caller]);
    for (let i = 0; i < 2; i++) {
      open();
      inner.listener?.end();
      await nextTick();
    }
    expect(spans.map((span) => [span.name, span.spanId, span.parentSpanId])).toEqual([
      ["invocation-start Greeter/greet", INVOCATION_SPAN, CALLER_SPAN],
      ["invocation-attempt Greeter/greet", ATTEMPT_SPAN, INVOCATION_SPAN],
      ["invocation-attempt Greeter/greet", ATTEMPT_SPAN, INVOCATION_SPAN],
    ]);
    expect(spans[0]!.startMs).toBe(1234);
  });

  test("of a run that was taken over records the attempt of the crashed process, beside its own", async () => {
    const lost = { sinceMs: 1_700_000_000_000, atMs: 1_700_000_004_015 };
    const { spans, inner, open } = anAttempt([ingressInvocation], {}, { lost });
    open();
    inner.listener?.end();
    await nextTick();
    expect(spans).toMatchObject([
      {
        name: "invocation-attempt Greeter/greet",
        traceId: TRACE,
        spanId: expect.not.stringContaining(ATTEMPT_SPAN),
        parentSpanId: INVOCATION_SPAN,
        startMs: lost.sinceMs,
        endMs: lost.atMs,
        error: "the process that ran the attempt is gone",
        attributes: { "perdure.attempt.result": "lost", "error.type": "lost", "perdure.deployment.id": "dp_1" },
      },
      { spanId: ATTEMPT_SPAN, parentSpanId: INVOCATION_SPAN },
    ]);
  });

  test("of an invocation that is gone, or not readable yet after a start, still has its span under the invocation's", async () => {
    const { spans, inner, open } = anAttempt([]);
    open();
    inner.listener?.end();
    await nextTick();
    expect(spans).toMatchObject([{ spanId: ATTEMPT_SPAN, parentSpanId: INVOCATION_SPAN }]);
  });

  test.each([
    ["is not sampled", { traceparent: `00-${TRACE}-${ATTEMPT_SPAN}-00` }],
    ["has no trace", { traceparent: "" }],
    ["is not an invocation", { "x-restate-invocation-id": "" }],
  ])("that %s passes untouched", async (_, headers) => {
    const { spans, inner, open, transport } = anAttempt([ingressInvocation], headers);
    open();
    inner.listener?.end();
    await nextTick();
    expect(spans).toEqual([]);
    await transport[Symbol.asyncDispose]();
    expect(inner.calls).toEqual(["dispose"]);
  });
});
