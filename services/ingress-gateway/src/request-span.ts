/** The span of a request, named by the kind of its route and never by its path, which callers choose (kubernetes.md §5.2). */
import { present } from "@perdure/base";
import { type Edge, httpServerSpan } from "@perdure/telemetry";
import type { ExchangeKind, IngressExchange } from "./exchange.js";
import { traceContextOf } from "./trace-context.js";

const ROUTES: Readonly<Record<ExchangeKind, string>> = {
  call: "/{service}/{handler}",
  send: "/{service}/{handler}/send",
  attach: "/restate/attach/{target}",
  output: "/restate/output/{target}",
  lookup: "/restate/lookup",
  awakeable: "/restate/awakeables/{id}",
  health: "/restate/health",
  other: "/{path}",
};

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);

export function beginSpan(exchange: IngressExchange, edge: Edge): void {
  const caller = traceContextOf(exchange.traceparent, exchange.tracestate);
  exchange.span = edge.begin(caller?.traceparent, exchange.isTraceRequested);
}

/** `status` is undefined when the client disconnected. */
export function endSpan(
  { kind, method, refusedWith, rawHeaders }: IngressExchange,
  span: NonNullable<IngressExchange["span"]>,
  status: number | undefined,
): void {
  if (kind === "health") return; // Probes belong to no trace.
  const route = ROUTES[kind];
  const verb = METHODS.has(method) ? method : "_OTHER";
  const named = headersOf(rawHeaders);
  const { ":authority": host = named["host"], "user-agent": userAgent } = named;
  const httpVersion = named[":method"] === undefined ? "1.1" : "2";
  // TLS ends in front of it.
  span.note(httpServerSpan({ method: verb, route, scheme: "http", httpVersion, host, userAgent, status }));
  // An error outcome of a handler is not a failure of the request; a failure of the ingress is.
  span.end(refusedWith !== undefined && (status ?? 0) >= 500 ? refusedWith : undefined);
}

const NAMED: ReadonlySet<string> = new Set([":method", ":authority", "host", "user-agent"]);

/** The first of each header that a span records. */
function headersOf(raw: readonly string[]): Readonly<Record<string, string | undefined>> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = present(raw[i]).toLowerCase();
    if (NAMED.has(name)) headers[name] ??= present(raw[i + 1]);
  }
  return headers;
}
