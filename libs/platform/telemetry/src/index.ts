/** Logs, metrics and traces of a process. Spans of invocations are exported by `@perdure/telemetry/tracing`. */

export { expositionText, type MetricSnapshot, mergedMetrics } from "./exposition.js";
export { createLogging, type Logging } from "./logging.js";
export { COARSE_SECONDS_BUCKETS, Counter, Histogram, Metrics, type ObservedValue } from "./metrics.js";
export {
  currentTraceIds,
  type Edge,
  type EdgeOperation,
  measuredOperations,
  type SpanShape,
  tracedEdge,
  tracedOperations,
} from "./operations.js";
export { registerProcessMetrics, registerThreadMetrics } from "./process-metrics.js";
export { Sampler } from "./sampling.js";
export { spanTimeMs } from "./span-clock.js";
export { resourceAttributes } from "./span-resource.js";
export { GRPC_CODES, grpcSpan, httpServerSpan, postgresSpan, redisSpan } from "./span-shapes.js";
export { bothTracers, noTracer, type SpanRecord, startTelemetry, type Tracer } from "./telemetry.js";
export { idsOf } from "./trace-ids.js";
export type { TracingPorts } from "./tracing-ports.js";
export { VERSION } from "./version.js";
