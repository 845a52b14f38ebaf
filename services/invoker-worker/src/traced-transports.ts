/** Transports whose attempts leave spans, while tracing is on. */
import type { Partitions } from "@perdure/control";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { type TracingPorts, tracedTransport } from "@perdure/telemetry/tracing";

export interface EndpointTransports {
  readonly http: EndpointTransport;
  readonly lambda: EndpointTransport | undefined;
}

/** `partitions` reads the invocations of the attempts. */
export function tracedTransports(
  plain: EndpointTransports,
  partitions: Pick<Partitions, "describe">,
  tracing: TracingPorts | undefined,
): EndpointTransports {
  if (tracing === undefined) return plain;
  const { http, lambda } = plain;
  return {
    http: tracedTransport(http, partitions, tracing),
    lambda: lambda === undefined ? undefined : tracedTransport(lambda, partitions, tracing),
  };
}
