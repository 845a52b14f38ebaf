/**
 * Exports spans with OpenTelemetry's SDK. Only processes with an endpoint for spans load this file, because the exporter and what it imports
 * take memory and time to start.
 */
import { DiagLogLevel, diag } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { finishedSpans, RecordedIds } from "./finished-spans.js";
import { SPANS_PER_EXPORT_MAX, SPANS_QUEUED_MAX } from "./limits.js";
import type { Telemetry, TelemetryOptions } from "./telemetry.js";
import { VERSION } from "./version.js";

/** `url`: of the collector, with its path. */
export function otlpTelemetry({ url, headers, resource, logger }: TelemetryOptions & { readonly url: string }): Telemetry {
  const tracingLogger = logger.child({ component: "tracing" });
  // The SDK reports failed exports only through this.
  const warn = (message: string): void => tracingLogger.warn({}, message);
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, { logLevel: DiagLogLevel.WARN });
  const ids = new RecordedIds();
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, headers: { ...headers } }),
    maxQueueSize: SPANS_QUEUED_MAX,
    maxExportBatchSize: SPANS_PER_EXPORT_MAX,
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(resource)),
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    spanProcessors: [processor],
  });
  return {
    tracer: finishedSpans(provider, ids, { name: "perdure", version: VERSION }),
    [Symbol.asyncDispose]: () => provider.shutdown(),
  };
}
