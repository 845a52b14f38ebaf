/**
 * Traces of durable work. An invocation outlives processes, so no span is ever held open: the process that sees the end records a finished
 * span, under ids that travelled with the work (W3C trace context). Without an endpoint for spans the tracer does nothing, and
 * OpenTelemetry's SDK is not loaded.
 */
import type { Attributes, HrTime, SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { type Logger, PerdureError } from "@perdure/base";
import { SPANS_PER_EXPORT_MAX, SPANS_QUEUED_MAX } from "./limits.js";
import { VERSION } from "./version.js";

/** A span that has ended. Ids are lower-case hex as in `traceparent`: 32 digits for the trace, 16 for a span. */
export interface SpanRecord {
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "consumer";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Milliseconds since 1970 with fractions (`spanTimeMs`). */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Set when what the span is about failed. */
  readonly error: string | undefined;
  /** Other traces that this one is related to. */
  readonly links?: readonly SpanLink[] | undefined;
  readonly events?: readonly SpanEvent[] | undefined;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

export interface Tracer {
  /** False: spans are discarded, so callers need not make ids for them. */
  readonly enabled: boolean;
  /** Queues the span; never waits, never throws. */
  record(span: SpanRecord): void;
}

/** Traces nothing. */
export const noTracer: Tracer = { enabled: false, record() {} };

/** Records with each that is enabled. */
export function bothTracers(one: Tracer, other: Tracer): Tracer {
  if (!one.enabled || !other.enabled) return one.enabled ? one : other;
  return {
    enabled: true,
    record(span) {
      one.record(span);
      other.record(span);
    },
  };
}

export interface TelemetryOptions {
  /** Where an OTLP/HTTP collector listens, e.g. `http://localhost:4318`; `/v1/traces` is added to an address without a path. */
  readonly endpoint: string;
  /** Sent with every export, for authentication. */
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of the resource, beside those about OpenTelemetry's SDK. */
  readonly resource: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

export interface Telemetry extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** Loads the SDK and starts exporting. Throws RT0002 when the endpoint is not an address. Disposing sends the queued spans. */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const url = tracesUrl(options.endpoint);
  const [api, { BatchSpanProcessor }, { OTLPTraceExporter }, resources] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const logger = options.logger.child({ component: "tracing" });
  // The SDK reports failed exports only through this.
  const warn = (message: string): void => logger.warn({}, message);
  api.diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, { logLevel: api.DiagLogLevel.WARN });
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, headers: { ...options.headers } }),
    maxQueueSize: SPANS_QUEUED_MAX,
    maxExportBatchSize: SPANS_PER_EXPORT_MAX,
  });
  const shared = {
    resource: resources.defaultResource().merge(resources.resourceFromAttributes(options.resource)),
    instrumentationScope: { name: "perdure", version: VERSION },
  };
  return {
    tracer: { enabled: true, record: (span) => processor.onEnd(readableSpan(span, shared)) },
    [Symbol.asyncDispose]: () => processor.shutdown(),
  };
}

/** `otlp+http://` is another way to write `http://`. */
function tracesUrl(endpoint: string): string {
  const parsed = URL.parse(endpoint.replace(/^otlp\+/, ""));
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    const hint = "an address of an OTLP collector that listens for HTTP, such as http://localhost:4318";
    throw new PerdureError("RT0002", `'tracing-endpoint' cannot be '${endpoint}': it must be ${hint}`);
  }
  if (parsed.pathname === "/") parsed.pathname = "/v1/traces";
  return parsed.href;
}

type SharedSpanFacts = Pick<ReadableSpan, "resource" | "instrumentationScope">;

/** Numbers of OpenTelemetry's `SpanKind` and `SpanStatusCode`, and the trace flag for "sampled". */
const KINDS = { internal: 0, server: 1, client: 2, consumer: 4 } as const;
const STATUS = { unset: 0, error: 2 } as const;
const SAMPLED = 1;

function readableSpan(span: SpanRecord, shared: SharedSpanFacts): ReadableSpan {
  const context: SpanContext = { traceId: span.traceId, spanId: span.spanId, traceFlags: SAMPLED };
  const parent = span.parentSpanId === undefined ? undefined : { ...context, spanId: span.parentSpanId };
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime: hrTime(span.startMs),
    endTime: hrTime(span.endMs),
    duration: hrTime(Math.max(0, span.endMs - span.startMs)),
    status: span.error === undefined ? { code: STATUS.unset } : { code: STATUS.error, message: span.error },
    attributes: span.attributes as Attributes,
    links: (span.links ?? []).map((link) => ({ context: { ...link, traceFlags: SAMPLED } })),
    events: (span.events ?? []).map(({ name, atMs, attributes }) => ({ name, time: hrTime(atMs), attributes })),
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    ...shared,
  };
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
