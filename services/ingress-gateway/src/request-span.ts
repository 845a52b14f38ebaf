/** Why: the span of a request, named by the kind of its route and never by its path, which callers choose (kubernetes.md §5.2). */
import type { Edge } from "@perdure/role";
import type { Exchange, ExchangeKind } from "./exchange.js";
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

export function beginSpan(exchange: Exchange, edge: Edge): void {
  const caller = traceContextOf(exchange.traceparent, exchange.tracestate);
  exchange.span = edge.begin(caller?.traceparent, exchange.wantsTrace);
}

/** `status` is undefined when the client left. */
export function endSpan(
  { kind, method, refusedWith }: Exchange,
  span: NonNullable<Exchange["span"]>,
  status: number | undefined,
): void {
  const route = ROUTES[kind];
  const verb = METHODS.has(method) ? method : "_OTHER";
  span.note({
    name: `${verb} ${route}`,
    attributes: {
      "http.request.method": verb,
      // TLS ends in front of it.
      "url.scheme": "http",
      "http.route": route,
      ...(status === undefined ? {} : { "http.response.status_code": status }),
    },
  });
  // What a handler answers is no failure of the request; what the ingress could not do is.
  span.end(refusedWith !== undefined && (status ?? 0) >= 500 ? refusedWith : undefined);
}
