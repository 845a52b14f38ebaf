/** Names and attributes of spans, the same in every role, by OpenTelemetry's semantic conventions (kubernetes.md §5.2). */
import { present } from "@perdure/base";
import { SPAN_VALUE_CHARS_MAX } from "./limits.js";
import type { SpanShape } from "./operations.js";

/** Statuses of gRPC but for OK, in the order of their numbers, which begin with 1. */
export const GRPC_CODES = [
  ...["CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED"],
  ...["RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE"],
  ...["DATA_LOSS", "UNAUTHENTICATED"],
] as const;

export function grpcSpan(method: string, service: string): SpanShape {
  return {
    name: `${service}/${method}`,
    attributes: { "rpc.system": "grpc", "rpc.service": service, "rpc.method": method },
    ended: (error) => ({ "rpc.grpc.status_code": grpcNumber(error) }),
  };
}

function grpcNumber(error: string | undefined): number {
  if (error === undefined) return 0;
  const codes: readonly string[] = GRPC_CODES;
  const index = codes.indexOf(error);
  return (index < 0 ? codes.indexOf("UNKNOWN") : index) + 1;
}

/** Without the text of the statement, which may contain values. */
export function postgresSpan(operation: string, table: string): SpanShape {
  return databaseSpan("postgresql", operation, table);
}

/** `target`: a table, or the part of a partition that is read or written. */
export function redisSpan(operation: string, target: string): SpanShape {
  return databaseSpan("redis", operation, target);
}

function databaseSpan(system: string, operation: string, target: string): SpanShape {
  return {
    name: `${operation} ${target}`,
    attributes: { "db.system.name": system, "db.operation.name": operation, "db.collection.name": target },
  };
}

/** Facts about a request that a server answered. Values that callers choose are bounded. */
interface HttpFacts {
  /** One of a closed set, or `_OTHER`. */
  readonly method: string;
  /** The route as it is written, `/{service}/{handler}`, never its values. */
  readonly route: string;
  readonly scheme: "http" | "https";
  /** `1.1` or `2`. */
  readonly httpVersion: string;
  /** As the client named it, with or without a port. */
  readonly host: string | undefined;
  readonly userAgent: string | undefined;
  /** Undefined when the client left. */
  readonly status: number | undefined;
}

/** OpenTelemetry's attributes of a server's span. `url.path` is the route: paths have keys of objects in them, which are in no span. */
export function httpServerSpan({ method, route, scheme, httpVersion, host, userAgent, status }: HttpFacts): SpanShape {
  const named = host === undefined ? null : /^(\[[^\]]{1,64}\]|[^:/\s]{1,253})(?::(\d{1,5}))?$/.exec(host);
  return {
    name: `${method} ${route}`,
    attributes: {
      "http.request.method": method,
      "http.route": route,
      "url.path": route,
      "url.scheme": scheme,
      "network.protocol.version": httpVersion,
      ...(named === null ? {} : { "server.address": present(named[1]) }),
      ...(named?.[2] === undefined ? {} : { "server.port": Number(named[2]) }),
      ...(userAgent === undefined ? {} : { "user_agent.original": userAgent.slice(0, SPAN_VALUE_CHARS_MAX) }),
      ...(status === undefined ? {} : { "http.response.status_code": status }),
    },
  };
}
