/** Metrics of tenancy. Labels are closed sets: no account, environment or key can become a series. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "@perdure/base";
import type { Tenancy } from "@perdure/cloud";
import type { TenancyPorts } from "@perdure/cloud-api";
import { PROXY_PREFIX } from "@perdure/cloud-api";
import type { PlanQuota } from "@perdure/cloud-requests";
import type { Metrics } from "@perdure/telemetry";
import { ENVIRONMENT_SERIES_MAX } from "./limits.js";

const CODES = ["2xx", "3xx", "4xx", "5xx"];
const METHODS = ["apikey", "member"];

/** Wraps `tenancy` so that checks of credentials are counted and measured. */
export function measuredTenancy(tenancy: Tenancy, metrics: Metrics, clock: Clock): Tenancy {
  const checks = metrics.counter({
    name: "perdure_tenancy_auth_checks_total",
    help: "Credentials that gateways checked with tenancy",
    labels: { method: METHODS, result: ["caller", "unknown", "elsewhere", "failed"] },
  });
  const durations = metrics.histogram({
    name: "perdure_tenancy_auth_check_duration_seconds",
    help: "Time to check a credential for a gateway or relay",
    labels: { method: METHODS },
  });
  return {
    environment: (bare) => tenancy.environment(bare),
    environments: () => tenancy.environments(),
    watch: (listener, options) => tenancy.watch(listener, options),
    report: (reports) => tenancy.report(reports),
    reportTunnels: (report) => tenancy.reportTunnels(report),
    shareRates: (report) => tenancy.shareRates(report),
    runtimeOf: (token) => tenancy.runtimeOf(token),
    async authenticate(credential, environmentId) {
      const method = credential.startsWith("key_") ? "apikey" : "member";
      const sinceMs = clock.monotonicMs();
      let result = "failed";
      try {
        const authentication = await tenancy.authenticate(credential, environmentId);
        result = authentication.kind;
        return authentication;
      } finally {
        checks.inc(method, result);
        durations.observe((clock.monotonicMs() - sinceMs) / 1000, method);
      }
    },
  };
}

type NodeRequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

/** Wraps `listener` so that answers are counted and measured. */
export function measuredApi(listener: NodeRequestHandler, metrics: Metrics, clock: Clock): NodeRequestHandler {
  const requests = metrics.counter({
    name: "perdure_tenancy_api_requests_total",
    help: "Requests to the Cloud API, the console and the login pages, without requests that the console forwards",
    labels: { code: CODES },
  });
  const proxied = metrics.counter({
    name: "perdure_tenancy_console_proxied_total",
    help: "Requests of the console to environments, forwarded or refused; other: the page left before the end",
    labels: { code: CODES },
  });
  let proxiedOpen = 0;
  metrics.observed(
    {
      type: "gauge",
      name: "perdure_tenancy_console_proxied_open",
      help: "Requests of the console to environments in progress",
    },
    () => proxiedOpen,
  );
  const durations = metrics.histogram({
    name: "perdure_tenancy_api_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer",
  });
  return (req, res) => {
    const sinceMs = clock.monotonicMs();
    const isProxied = req.url?.startsWith(PROXY_PREFIX) === true;
    if (isProxied) proxiedOpen++;
    res.once("close", () => {
      const code = res.writableFinished ? `${Math.floor(res.statusCode / 100)}xx` : "other";
      if (isProxied) {
        // The duration of services says nothing about tenancy.
        proxiedOpen--;
        return proxied.inc(code);
      }
      requests.inc(code);
      durations.observe((clock.monotonicMs() - sinceMs) / 1000);
    });
    listener(req, res);
  };
}

/** The task that counts environments; rejects while the database does not answer. */
export function environmentCounts(
  metrics: Metrics,
  { database, clock }: Pick<TenancyPorts, "database" | "clock">,
): () => Promise<void> {
  let counts: PlanStatusCounts = [];
  metrics.observedEach(
    {
      type: "gauge",
      name: "perdure_tenancy_environments",
      help: "Environments that are not deleted, by plan and status; each tenancy process reports all of them",
      labels: ["plan", "state"],
      seriesMax: ENVIRONMENT_SERIES_MAX,
    },
    () => counts.map(({ plan, status, count }) => ({ labels: [plan, status.toLowerCase()], value: count })),
  );
  const lag = metrics.gauge({
    name: "perdure_tenancy_usage_flush_lag_seconds",
    help: "Seconds since usage was last reported, by any gateway or runtime; 0 before the first report",
  });
  return async () => {
    const [planCounts, reportedAtMs] = await Promise.all([
      database.tables.environments.countByPlanAndStatus(),
      database.tables.usage.lastReportMs(),
    ]);
    counts = planCounts;
    lag.set(reportedAtMs === undefined ? 0 : Math.max(0, clock.nowMs() - reportedAtMs) / 1000);
  };
}

type PlanStatusCounts = Awaited<ReturnType<TenancyPorts["database"]["tables"]["environments"]["countByPlanAndStatus"]>>;

/** Called when a plan refuses something. */
export function planLimits(metrics: Metrics): (quota: PlanQuota) => void {
  const rejections = metrics.counter({
    name: "perdure_tenancy_quota_rejections_total",
    help: "Requests for more than a plan allows",
    labels: { quota: ["accounts", "environments", "keys", "members"] },
  });
  return (quota) => rejections.inc(quota);
}
