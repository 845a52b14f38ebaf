/** Why: what the relay tells about itself. Labels are closed sets: no environment, name or path can become a series. */
import type { Metrics } from "@perdure/role";
import { type TunnelStatus, tunnelStatuses } from "@perdure/tunnel";

export const refusalReasons = ["path", "caller", "foreign", "signature", "nobody", "full", "unknown"] as const;
export type RelayRefusalReason = (typeof refusalReasons)[number];

/** Must not throw. */
export interface RelayMetrics {
  /** `failed`: no verdict was reached. */
  shaken(status: TunnelStatus | "failed" | "throttled"): void;
  passed(durationMs: number): void;
  refused(reason: RelayRefusalReason): void;
  bytes(count: number): void;
  retried(): void;
  hopped(): void;
}

export interface RelayGauges {
  readonly connections: () => number;
  readonly names: () => number;
  readonly inFlight: () => number;
}

export function relayMetrics(metrics: Metrics): RelayMetrics {
  const handshakes = metrics.counter({
    name: "perdure_tunnel_handshakes_total",
    help: "Handshakes of tunnel clients by verdict",
    labels: { status: [...tunnelStatuses, "failed", "throttled"] },
  });
  const durations = metrics.histogram({
    name: "perdure_tunnel_request_duration_seconds",
    help: "Time of runtimes' requests at the proxy, handlers included",
  });
  const refusals = metrics.counter({
    name: "perdure_tunnel_refusals_total",
    help: "Runtimes' requests that the relay answered instead of a tunnel",
    labels: { reason: [...refusalReasons] },
  });
  const bytes = metrics.counter({ name: "perdure_tunnel_body_bytes_total", help: "Bytes of bodies that passed, both ways" });
  const retries = metrics.counter({
    name: "perdure_tunnel_retries_total",
    help: "Requests that went to another connection because a client was leaving",
  });
  const hops = metrics.counter({ name: "perdure_tunnel_hops_total", help: "Requests that went on to another relay" });
  return {
    shaken: (status) => handshakes.inc(status),
    passed: (durationMs) => durations.observe(durationMs / 1000),
    refused: (reason) => refusals.inc(reason),
    bytes: (count) => bytes.add(count),
    retried: () => retries.inc(),
    hopped: () => hops.inc(),
  };
}

/** What is asked for when somebody looks. */
export function observeRelay(metrics: Metrics, { connections, names, inFlight }: RelayGauges): void {
  metrics.observed({ name: "perdure_tunnel_connections", help: "Connections of tunnel clients", type: "gauge" }, connections);
  metrics.observed({ name: "perdure_tunnel_names", help: "Names that somebody serves", type: "gauge" }, names);
  metrics.observed({ name: "perdure_tunnel_requests_in_flight", help: "Requests in tunnels", type: "gauge" }, inFlight);
}
