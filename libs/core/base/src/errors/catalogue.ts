/**
 * All error codes, with the status that each edge returns for them; `docs/errors/<CODE>.md` says what happened, why, and what to do. A
 * published code keeps its meaning for ever; numbers that are missing were never assigned by us.
 *
 * META registration and metadata, RT running invocations (as in the interface specification §7 and service-protocol.md §14; from 100 on our
 * own), ING ingress, STO storage, TEN tenancy, OPS operator and roles.
 */

/** Entry of an error code. `title` completes "this is about …"; `http` and `grpc` are the statuses at the edges. */
type CatalogueEntry = { title: string; http: number; grpc: GrpcStatus };

/** The gRPC status names we use. */
export type GrpcStatus =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "UNAUTHENTICATED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "UNAVAILABLE"
  | "DEADLINE_EXCEEDED"
  | "INTERNAL";

function entry(title: string, http: number, grpc: GrpcStatus): CatalogueEntry {
  return { title, http, grpc };
}

export const catalogue = {
  META0003: entry("endpoint cannot be reached for discovery", 500, "UNAVAILABLE"),
  META0004: entry("destination is already registered", 409, "ALREADY_EXISTS"),
  META0005: entry("metadata cannot be propagated, or a reserved service name is used", 400, "INVALID_ARGUMENT"),
  META0006: entry("new service revision conflicts with the previous one", 409, "FAILED_PRECONDITION"),
  META0009: entry("subscription is invalid", 400, "INVALID_ARGUMENT"),
  META0010: entry("metadata directory was written by an incompatible version", 500, "FAILED_PRECONDITION"),
  META0011: entry("metadata directory has no version file", 500, "FAILED_PRECONDITION"),
  META0012: entry("no common service protocol version at discovery", 500, "FAILED_PRECONDITION"),
  META0013: entry("discovery response is malformed", 500, "INTERNAL"),
  META0014: entry("endpoint seems to speak HTTP/1.1 only", 500, "FAILED_PRECONDITION"),
  META0015: entry("bidirectional mode announced over a transport without it", 500, "FAILED_PRECONDITION"),
  META0016: entry("updated deployment is not similar enough to the old one", 400, "FAILED_PRECONDITION"),
  META0017: entry("several deployments share the destination to be forced", 409, "FAILED_PRECONDITION"),
  META0100: entry("schedule is invalid", 400, "INVALID_ARGUMENT"),
  META0101: entry("new code would fail with existing invocations", 409, "FAILED_PRECONDITION"),
  META0102: entry("a value is too large for a query", 400, "RESOURCE_EXHAUSTED"),
  META0103: entry("event subscription is invalid", 400, "INVALID_ARGUMENT"),
  META0104: entry("range of a backfill is invalid", 400, "INVALID_ARGUMENT"),

  RT0001: entry("attempt aborted: no message within the abort timeout", 500, "DEADLINE_EXCEEDED"),
  RT0002: entry("configuration cannot be read", 500, "INVALID_ARGUMENT"),
  RT0003: entry("message from the service is too large", 500, "RESOURCE_EXHAUSTED"),
  RT0004: entry("address cannot be bound", 500, "UNAVAILABLE"),
  RT0005: entry("storage directory is locked by another process", 500, "UNAVAILABLE"),
  RT0006: entry("invoking the service failed", 500, "INTERNAL"),
  RT0007: entry("handler reported a retryable error", 500, "UNAVAILABLE"),
  RT0009: entry("worker storage directory has no version file", 500, "FAILED_PRECONDITION"),
  RT0010: entry("network error talking to the service endpoint", 500, "UNAVAILABLE"),
  RT0011: entry("no deployment serves the service", 500, "NOT_FOUND"),
  RT0012: entry("service protocol violation", 500, "INTERNAL"),
  RT0013: entry("endpoint supports none of our service protocol versions", 500, "FAILED_PRECONDITION"),
  RT0014: entry("invocation is pinned to a protocol version that is no longer supported", 500, "FAILED_PRECONDITION"),
  RT0015: entry("endpoint dropped the protocol version agreed at discovery", 500, "FAILED_PRECONDITION"),
  RT0016: entry("journal mismatch on replay", 500, "FAILED_PRECONDITION"),
  RT0017: entry("journal entry failed a precondition", 500, "FAILED_PRECONDITION"),
  RT0018: entry("called service or handler is not registered", 500, "NOT_FOUND"),
  RT0019: entry("endpoint refused the request as too large", 500, "RESOURCE_EXHAUSTED"),
  RT0020: entry("deployment speaks a deprecated service protocol", 400, "FAILED_PRECONDITION"),
  RT0021: entry("inactivity timeout has no effect in request/response mode", 200, "FAILED_PRECONDITION"),
  RT0022: entry("journal retention is shortened to the allowed maximum", 200, "FAILED_PRECONDITION"),
  RT0023: entry("endpoint is overloaded", 500, "RESOURCE_EXHAUSTED"),
  RT0024: entry("flow-control feature used wrongly", 400, "INVALID_ARGUMENT"),
  RT0025: entry("awaited future is nested too deep", 500, "RESOURCE_EXHAUSTED"),
  RT0100: entry("journal is as large as is allowed", 500, "RESOURCE_EXHAUSTED"),
  RT0101: entry("attempt was cut off on request", 500, "ABORTED"),
  RT0102: entry("a sandbox has no answer to what the handler requested", 500, "FAILED_PRECONDITION"),
  RT0103: entry("as many invocations as the throttle allows have begun", 429, "RESOURCE_EXHAUSTED"),
  RT0104: entry("the partition stores as many throttle keys as are allowed", 429, "RESOURCE_EXHAUSTED"),

  ING0001: entry("request path names nothing", 400, "INVALID_ARGUMENT"),
  ING0002: entry("service, handler or invocation not found", 404, "NOT_FOUND"),
  ING0003: entry("request is malformed", 400, "INVALID_ARGUMENT"),
  ING0004: entry("request body is too large", 413, "RESOURCE_EXHAUSTED"),
  ING0005: entry("ingress is overloaded", 429, "RESOURCE_EXHAUSTED"),
  ING0006: entry("partition cannot be reached", 503, "UNAVAILABLE"),
  ING0007: entry("service is not public", 400, "PERMISSION_DENIED"),
  ING0008: entry("method is not allowed", 405, "INVALID_ARGUMENT"),
  ING0009: entry("request body could not be read", 500, "ABORTED"),
  ING0010: entry("debounce header cannot be used", 400, "INVALID_ARGUMENT"),
  ING0011: entry("throttle header cannot be used", 400, "INVALID_ARGUMENT"),

  STO0001: entry("storage cannot be written or read", 503, "UNAVAILABLE"),
  STO0002: entry("leadership was lost: a newer leader fenced this one", 503, "ABORTED"),
  STO0003: entry("stored data is damaged", 500, "INTERNAL"),
  STO0004: entry("storage is full", 503, "RESOURCE_EXHAUSTED"),
  STO0005: entry("partition data are not those that this environment was using", 503, "FAILED_PRECONDITION"),
  STO0006: entry("the commit log is damaged", 500, "INTERNAL"),
  STO0007: entry("commit log and database do not belong together", 503, "FAILED_PRECONDITION"),

  TEN0001: entry("tenancy cannot be reached", 503, "UNAVAILABLE"),
  TEN0002: entry("the environment has as many as its plan allows", 403, "RESOURCE_EXHAUSTED"),
  TEN0003: entry("the environment stores as much as its plan allows", 507, "RESOURCE_EXHAUSTED"),

  OPS0001: entry("setting is unknown or its value is not allowed", 500, "INVALID_ARGUMENT"),
  OPS0002: entry("two names of one setting disagree", 500, "INVALID_ARGUMENT"),
  OPS0003: entry("internal error", 500, "INTERNAL"),
  OPS0004: entry("role is shutting down", 503, "UNAVAILABLE"),
  OPS0005: entry("partition stopped because an invariant was broken", 503, "INTERNAL"),
  OPS0006: entry("objects would be left without their operator", 409, "FAILED_PRECONDITION"),
  OPS0007: entry("database gives an environment no role of its own", 503, "FAILED_PRECONDITION"),
  OPS0008: entry("time to undo the operation is over", 410, "FAILED_PRECONDITION"),
  OPS0009: entry("change cannot be undone", 409, "FAILED_PRECONDITION"),
  OPS0010: entry("bundle of an invocation cannot be read", 422, "INVALID_ARGUMENT"),
  OPS0011: entry("invocation is too large for a bundle", 413, "RESOURCE_EXHAUSTED"),
  OPS0012: entry("edited result does not fit the step of a fork", 422, "INVALID_ARGUMENT"),
  OPS0013: entry("journal of a fork cannot be cut there", 400, "FAILED_PRECONDITION"),
  OPS0014: entry("too many bundles are made at this moment", 429, "RESOURCE_EXHAUSTED"),
  OPS0100: entry("a web page of another origin requested a change", 403, "PERMISSION_DENIED"),
  OPS0101: entry("a browser used a host name that is not allowed", 403, "PERMISSION_DENIED"),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** Whether a text is a code of the catalogue. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(catalogue, text);
}
