/** Why: spans of the same kind are called the same in every role, by OpenTelemetry's semantic conventions (kubernetes.md §5.2). */
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
  const index = (GRPC_CODES as readonly string[]).indexOf(error);
  return (index < 0 ? GRPC_CODES.indexOf("UNKNOWN") : index) + 1;
}

/** No text of the statement: it may tell what it is about. */
export function postgresSpan(operation: string, table: string): SpanShape {
  return databaseSpan("postgresql", operation, table);
}

/** `target`: a table, or what of a partition is asked for. */
export function redisSpan(operation: string, target: string): SpanShape {
  return databaseSpan("redis", operation, target);
}

function databaseSpan(system: string, operation: string, target: string): SpanShape {
  return {
    name: `${operation} ${target}`,
    attributes: { "db.system.name": system, "db.operation.name": operation, "db.collection.name": target },
  };
}
