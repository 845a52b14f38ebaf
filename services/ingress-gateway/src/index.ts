/** The HTTP door for callers of services. */
export type { IngressMetrics, IngressPorts, StartSpan } from "./context.js";
export type { ExchangeKind } from "./exchange.js";
export { createIngress, type Ingress, type IngressOptions } from "./ingress.js";
export * as ingressLimits from "./limits.js";
