/**
 * Metrics of the gateway. Labels are closed sets: no key or path can become a series. Only the outcomes of ingress requests are
 * counted by environment, for a bounded number of environments: a runtime that is down reports no metrics.
 */
import { BoundedCache } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import type { Metrics, ObservedValue } from "@perdure/telemetry";
import type { GatewayEndpoint } from "./environments.js";
import { ENVIRONMENTS_COUNTED_MAX } from "./limits.js";
import { type GatewayRefusalReason, refusalReasons } from "./refusal.js";
import { type WakeResult, wakeResults } from "./waking.js";

/** Called about requests; must not throw. */
export interface GatewayMetrics {
  /** `reason` is set when the gateway answered instead of a runtime. */
  answered(endpoint: GatewayEndpoint, status: number, reason: GatewayRefusalReason | undefined, durationMs: number): void;
  /** The client left, or the answer broke off. */
  abandoned(endpoint: GatewayEndpoint, durationMs: number): void;
  /** A request at the ingress of an environment is over. */
  ofEnvironment(id: EnvironmentId, outcome: EnvironmentOutcome): void;
  bytes(endpoint: GatewayEndpoint, bytesIn: number, bytesOut: number): void;
  retried(): void;
  flooded(): void;
  /** Called when no request is held for the environment any more. */
  woke(result: WakeResult, durationMs: number): void;
}

/** `failed`: the gateway answered with an error of the platform, or the runtime broke off its answer. `abandoned`: the client left. */
export type EnvironmentOutcome = "answered" | "failed" | "abandoned";

const ENDPOINTS = ["ingress", "admin"];
const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"];

interface GatewayGauges {
  readonly inFlight: () => number;
  readonly heldRefusals: () => number;
  readonly waiting: () => number;
  readonly gateways: () => number;
  readonly callers: () => {
    readonly hits: number;
    readonly misses: number;
    readonly staleHits: number;
    readonly entries: number;
  };
  readonly environments: () => {
    readonly hits: number;
    readonly misses: number;
    readonly staleHits: number;
    readonly entries: number;
  };
}

export function gatewayMetrics(metrics: Metrics): GatewayMetrics {
  const requests = metrics.counter({
    name: "perdure_cloud_gateway_requests_total",
    help: "Requests by listener, class of status and component that answered",
    labels: { door: ENDPOINTS, code: STATUS_CLASSES, outcome: ["runtime", "gateway", "abandoned"] },
  });
  const byEnvironment = new EnvironmentCounts();
  metrics.observedEach(
    {
      type: "counter",
      name: "perdure_cloud_gateway_environment_requests_total",
      help: "Requests at the ingress of an environment, by outcome; for environments that were called recently",
      labels: ["env", "outcome"],
      seriesMax: 3 * ENVIRONMENTS_COUNTED_MAX,
    },
    () => byEnvironment.values(),
  );
  const refusals = metrics.counter({
    name: "perdure_cloud_gateway_refusals_total",
    help: "Requests that the gateway answered instead of a runtime",
    labels: { door: ENDPOINTS, reason: [...refusalReasons] },
  });
  const durations = metrics.histogram({
    name: "perdure_cloud_gateway_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer, handlers included",
    labels: { door: ENDPOINTS },
  });
  const bytes = metrics.counter({
    name: "perdure_cloud_gateway_body_bytes_total",
    help: "Bytes of forwarded request and response bodies",
    labels: { door: ENDPOINTS, direction: ["in", "out"] },
  });
  const retries = metrics.counter({
    name: "perdure_cloud_gateway_upstream_retries_total",
    help: "Connections to runtimes that were tried a second time",
  });
  const floods = metrics.counter({
    name: "perdure_cloud_gateway_floods_total",
    help: "HTTP/2 connections that were closed for the frames they sent",
  });
  const wakes = metrics.counter({
    name: "perdure_gateway_wakes_total",
    help: "Wake-ups of sleeping environments with held callers, by result",
    labels: { result: [...wakeResults] },
  });
  const wakeDurations = metrics.histogram({
    name: "perdure_gateway_wake_duration_seconds",
    help: "Time from the first caller of a sleeping environment that was held until none was",
    labels: { result: [...wakeResults] },
  });
  return {
    answered(endpoint, status, reason, durationMs) {
      const code = STATUS_CLASSES[Math.floor(status / 100) - 1] ?? "other";
      requests.inc(endpoint, code, reason === undefined ? "runtime" : "gateway");
      if (reason !== undefined) refusals.inc(endpoint, reason);
      durations.observe(durationMs / 1000, endpoint);
    },
    abandoned(endpoint, durationMs) {
      requests.inc(endpoint, "other", "abandoned");
      durations.observe(durationMs / 1000, endpoint);
    },
    ofEnvironment: (id, outcome) => byEnvironment.count(id, outcome),
    bytes(endpoint, bytesIn, bytesOut) {
      bytes.add(bytesIn, endpoint, "in");
      bytes.add(bytesOut, endpoint, "out");
    },
    retried: () => retries.inc(),
    flooded: () => floods.inc(),
    woke(result, durationMs) {
      wakes.inc(result);
      wakeDurations.observe(durationMs / 1000, result);
    },
  };
}

/** The environment called longest ago is evicted first; when it is called again it begins at 0, like counters of a new process. */
class EnvironmentCounts {
  readonly #counts = new BoundedCache<EnvironmentId, Record<EnvironmentOutcome, number>>({
    entriesMax: ENVIRONMENTS_COUNTED_MAX,
  });

  count(id: EnvironmentId, outcome: EnvironmentOutcome): void {
    this.#counts.getOrCreate(id, () => ({ answered: 0, failed: 0, abandoned: 0 }))[outcome]++;
  }

  /** Failures are exported from the first request on: a series that begins with a failure has no rate. */
  *values(): Iterable<ObservedValue> {
    for (const [id, counts] of this.#counts) {
      for (const outcome of OUTCOMES) yield { labels: [id, outcome], value: counts[outcome] };
    }
  }
}

const OUTCOMES: readonly EnvironmentOutcome[] = ["answered", "failed", "abandoned"];

/** Registers the values that are read at each scrape. */
export function observeGateway(
  metrics: Metrics,
  { inFlight, heldRefusals, waiting, gateways, callers, environments }: GatewayGauges,
): void {
  const observed = (type: "gauge" | "counter", name: string, help: string, read: () => number): void =>
    metrics.observed({ name: `perdure_cloud_gateway_${name}`, help, type }, read);
  observed("gauge", "requests_in_flight", "Requests neither answered nor abandoned", inFlight);
  observed("gauge", "requests_waiting", "Admitted requests that wait for their environment's turn", waiting);
  observed("gauge", "sharing_gateways", "Running gateways among which rates are divided, this one included", gateways);
  observed("gauge", "held_refusals", "Refusals that wait before they are answered", heldRefusals);
  observed("counter", "credential_hits_total", "Credentials found in the cache", () => callers().hits);
  observed("counter", "credential_misses_total", "Credentials checked with tenancy", () => callers().misses);
  observed(
    "counter",
    "credential_stale_total",
    "Credentials accepted from the cache because tenancy could not be reached",
    () => callers().staleHits,
  );
  observed("gauge", "credentials_remembered", "Credentials in the cache", () => callers().entries);
  observed("counter", "environment_misses_total", "Environments looked up at tenancy", () => environments().misses);
  observed("gauge", "environments_remembered", "Environments in the cache", () => environments().entries);
}
