/** Headers of `/invoke` requests (service-protocol §1.4). */
import type { DeploymentView } from "@perdure/control";
import type { RequestIdentity } from "@perdure/endpoint-transport";
import { invocationContentType, type ProtocolVersion } from "@perdure/service-protocol";
import type { InvocationFacts, TraceContext } from "@perdure/state-machine";

/** Names that a deployment's own headers may not use: the invoker or the transport sets these. */
const RESERVED: ReadonlySet<string> = new Set([
  "content-type",
  "accept",
  "content-length",
  "transfer-encoding",
  "connection",
  "x-restate-invocation-id",
]);

export interface RequestHeaderParts {
  readonly facts: InvocationFacts;
  readonly version: ProtocolVersion;
  /**
   * The service's own path, which is the audience of the identity token, whatever prefix the service is mounted below (cloud.md §3.2).
   */
  readonly path: string;
  /** Span of this attempt. */
  readonly trace: TraceContext | undefined;
  readonly additional: Readonly<Record<string, string>>;
  readonly deployment: DeploymentView;
  readonly identity: RequestIdentity | undefined;
}

export function requestHeaders({
  facts,
  version,
  path,
  trace,
  additional,
  deployment,
  identity,
}: RequestHeaderParts): Record<string, string> {
  const contentType = invocationContentType(version);
  const headers: Record<string, string> = {
    "content-type": contentType,
    accept: contentType,
    "x-restate-invocation-id": facts.id,
  };
  const { key } = facts.target;
  if (key !== undefined) headers["x-restate-service-key"] = percentEncode(key);
  for (const name in additional) headers[name] = additional[name]!;
  if (trace !== undefined) {
    headers["traceparent"] = trace.traceparent;
    if (trace.tracestate !== undefined) headers["tracestate"] = trace.tracestate;
  }
  for (const name in deployment.additionalHeaders) {
    const lowerCase = name.toLowerCase();
    if (!RESERVED.has(lowerCase)) headers[lowerCase] = deployment.additionalHeaders[name]!;
  }
  identity?.sign(headers, path, key);
  return headers;
}

/** UTF-8, everything but `A-Za-z0-9-._~` as %XX in upper case. */
function percentEncode(text: string): string {
  // encodeURIComponent does not encode five more characters, and throws for lone surrogates.
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `/invoke/<service>/<handler>`; names are restricted to characters that need no encoding (service-protocol §13.2). */
export function invokePath(facts: InvocationFacts): string {
  return `/invoke/${facts.target.service}/${facts.target.handler}`;
}
