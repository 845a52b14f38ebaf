/**
 * Traces of durable work. An invocation outlives processes, so no span is ever held open: the process that sees the end records a finished
 * span, under ids that travelled with the work (W3C trace context). Without an endpoint for spans the tracer does nothing, and
 * OpenTelemetry's exporter is not loaded.
 */
import { type Logger, PerdureError } from "@perdure/base";

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
}

interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
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
  const { otlpTelemetry } = await import("./otlp-telemetry.js");
  return otlpTelemetry({ ...options, url });
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
