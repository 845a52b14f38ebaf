/** Serves callers over HTTP: authenticates requests, submits invocations and returns their results. */
export { ingressOptionsOf, ingressSettings, ingressSettingsShape } from "./config.js";
export type { IngressMetrics, IngressPorts } from "./context.js";
export type { ExchangeKind } from "./exchange.js";
export { createIngress, type Ingress } from "./ingress.js";
export * as ingressLimits from "./limits.js";
export { ingressMetrics, observeIngress } from "./metrics.js";
export type { IngressOptions } from "./options.js";
export { ingressShareOf } from "./thread-share.js";
