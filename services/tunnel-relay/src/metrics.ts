/** Metrics of the relay. Labels are closed sets: no environment, name or path can become a series. */
import type { Metrics } from "@perdure/telemetry";
import { type TunnelStatus, tunnelStatuses } from "@perdure/tunnel";

const refusalReasons = ["path", "caller", "foreign", "signature", "nobody", "full", "unknown"] as const;
export type RelayRefusalReason = (typeof refusalReasons)[number];

/** Must not throw. */
export interface RelayMetrics {
  /** `failed`: the handshake ended without a status. */
  shaken(status: TunnelStatus | "failed" | "throttled"): void;
  passed(durationMs: number): void;
  refused(reason: RelayRefusalReason): void;
  bytes(count: number): void;
  retried(): void;
  hopped(): void;
}

interface RelayGauges {
  readonly connections: () => number;
  readonly names: () => number;
  readonly inFlight: () => number;
}

export function relayMetrics(metrics: Metrics): RelayMetrics {
  const handshakes = metrics.counter({
    name: "perdure_tunnel_handshakes_total",
    help: "Handshakes of tunnel clients by status",
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
  const bytes = metrics.counter({
    name: "perdure_tunnel_body_bytes_total",
    help: "Body bytes through tunnels, in both directions",
  });
  const retries = metrics.counter({
    name: "perdure_tunnel_retries_total",
    help: "Requests sent again on another connection because a client was draining",
  });
  const hops = metrics.counter({ name: "perdure_tunnel_hops_total", help: "Requests forwarded to another relay" });
  return {
    shaken: (status) => handshakes.inc(status),
    passed: (durationMs) => durations.observe(durationMs / 1000),
    refused: (reason) => refusals.inc(reason),
    bytes: (count) => bytes.add(count),
    retried: () => retries.inc(),
    hopped: () => hops.inc(),
  };
}

/** Registers gauges whose values are computed at each scrape. */
export function observeRelay(metrics: Metrics, { connections, names, inFlight }: RelayGauges): void {
  metrics.observed({ name: "perdure_tunnel_connections", help: "Connections of tunnel clients", type: "gauge" }, connections);
  metrics.observed({ name: "perdure_tunnel_names", help: "Tunnel names with at least one connection", type: "gauge" }, names);
  metrics.observed({ name: "perdure_tunnel_requests_in_flight", help: "Requests in tunnels", type: "gauge" }, inFlight);
}
