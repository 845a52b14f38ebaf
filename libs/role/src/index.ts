/** Why: what every role's process needs around its actual work. The HTTP kit is entered by `@perdure/role/http`. */
export * from "./config/index.js";
export { type ConnectionErrorKind, ConnectionErrors, connectionErrorKind, type UncaughtOrigin } from "./connection-errors.js";
export * from "./health.js";
export * from "./lifecycle.js";
export * from "./logging.js";
export * from "./metrics.js";
export * from "./operations.js";
export * from "./polled.js";
export * from "./process/index.js";
export * from "./process-metrics.js";
export * from "./sampling.js";
export * from "./setting-file.js";
export * from "./settings/index.js";
export * from "./span-shapes.js";
export * from "./telemetry.js";
export * from "./tracing-ports.js";
export * from "./until-available.js";
export * from "./version.js";
