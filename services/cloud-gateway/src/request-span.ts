/**
 * The span of a request at the gateway, so that its trace begins at the first hop. It starts at the time of the headers, and is made
 * when the caller is authenticated and the request goes to a runtime: unauthenticated requests start no trace. Spans of the runtime are
 * its children.
 */
import type { Clock } from "@perdure/base";
import { type Edge, httpServerSpan, spanTimeMs } from "@perdure/telemetry";
import type { GatewayRequest } from "./gateway-request.js";
import { routeTemplate } from "./route.js";
import type { RequestOutcome } from "./settlement.js";

export function beginSpan(request: GatewayRequest, edge: Edge, clock: Clock): void {
  if (request.span !== undefined) return;
  const { head, caller, startedAtMs } = request;
  const sinceMs = spanTimeMs(clock) - (clock.monotonicMs() - startedAtMs);
  request.span = edge.begin(head.traceparent, head.isTraceRequested && caller !== undefined, sinceMs);
}

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);

export function endSpan(
  { span, head, endpoint, exchange, environment, status, reason, isBroken }: GatewayRequest,
  outcome: RequestOutcome,
): void {
  if (span === undefined) return;
  const shape = httpServerSpan({
    method: METHODS.has(head.method) ? head.method : "_OTHER",
    route: routeTemplate(endpoint, head.path),
    scheme: exchange.isSecure ? "https" : "http",
    httpVersion: head.isHttp2 ? "2" : "1.1",
    host: head.authority,
    userAgent: head.userAgent,
    status: outcome === "answered" ? status : undefined,
  });
  const ours = {
    "perdure.api": endpoint,
    ...(environment === undefined ? {} : { "perdure.environment.id": environment.facts.id }),
  };
  span.note({ ...shape, attributes: { ...shape.attributes, ...ours } });
  // An error of a handler does not fail the span; an error of the gateway does.
  const refused = reason !== undefined && status >= 500 ? reason : undefined;
  span.end(isBroken ? "broken" : refused);
}
