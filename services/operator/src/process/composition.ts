/** The operator as a process: its role on the cluster of a kubeconfig or of the pod itself. */
import { readFileSync } from "node:fs";
import { PerdureError } from "@perdure/base";
import { connectKubernetes, type RequestObserver } from "@perdure/kubernetes";
import type { HealthReport, ProcessPorts, ReadyFacts } from "@perdure/process-kit";
import { openProbes } from "@perdure/process-kit/http";
import { tracedEdge } from "@perdure/telemetry";
import type { Cell } from "../cell.js";
import { DELETION_STUCK_MS } from "../limits.js";
import { codeOf, type OperatorMetrics, operatorMetrics } from "../metrics.js";
import { type OperatorOptions, startOperator } from "../operator.js";
import type { OperatorSettings } from "./config.js";

/** Resolves when it watches its cluster; it works whenever it leads. Rejects with OPS0001 (settings), RT0004 (address). */
export async function startOperatorProcess(settings: OperatorSettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics: registry, clock, random, logger } = ports;
  const cell = await lifecycle.prepare(() => cellOf(settings));
  const metrics = operatorMetrics(registry, () => clock.nowMs());
  let waitingFor: () => readonly string[] = () => [];
  const health = (): HealthReport => withWaiting(lifecycle.health, waitingFor());
  const probePorts = { health, metrics: () => registry.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const client = await lifecycle.start("Kubernetes", () => connectKubernetes(kubeconfigOf(settings), observerOf(metrics)));
  const { workers, perSecond, resync } = settings.reconcile;
  const lease = await lifecycle.prepare(() => leaseOf(settings));
  const options = { cell, identity: settings.nodeName, workers, keysPerSecond: perSecond, resyncMs: resync, lease };
  const edge = tracedEdge(ports, "internal");
  const operatorPorts = { client, clock, random, logger, metrics, edge, onFatal: (cause: unknown) => lifecycle.fail(cause) };
  const operator = await lifecycle.start("operator", () => startOperator(options, operatorPorts));
  waitingFor = () => operator.waitingFor();
  await lifecycle.awaitPart("copies of the cluster", () => operator.untilWatching(lifecycle.stopping));
  return { probes: `http://localhost:${probes.port}/readyz` };
}

/** Adds the missing definitions and incomplete caches to the health report. */
function withWaiting(report: HealthReport, more: readonly string[]): HealthReport {
  return { ...report, ready: report.ready && more.length === 0, waitingFor: [...report.waitingFor, ...more] };
}

/** Undefined: the configuration of the pod or the home directory applies. Throws OPS0001 when the file cannot be read. */
export function kubeconfigOf({ kubernetes }: OperatorSettings): string | undefined {
  const { kubeconfigFile } = kubernetes;
  if (kubeconfigFile === undefined) return undefined;
  try {
    return readFileSync(kubeconfigFile, "utf8");
  } catch (cause) {
    throw new PerdureError("OPS0001", `'kubernetes.kubeconfig-file' cannot be read: ${kubeconfigFile}`, { cause });
  }
}

/** Throws OPS0001 when two could lead for long. */
function leaseOf({ leadership }: OperatorSettings): NonNullable<OperatorOptions["lease"]> {
  const { lease, renewWithin, retry } = leadership;
  if (retry < renewWithin && renewWithin < lease) return { leaseMs: lease, renewWithinMs: renewWithin, retryMs: retry };
  throw new PerdureError("OPS0001", "'leadership.retry' must be less than 'renew-within', and that less than 'lease'");
}

const observerOf =
  (metrics: OperatorMetrics): RequestObserver =>
  (verb, plural, status, seconds) => {
    metrics.apiRequests.inc(verb, plural, codeOf(status));
    if (verb !== "watch") metrics.apiDuration.observe(seconds, verb);
  };

function cellOf({ cell, kubernetes, images, postgres, allowPolicyDisable, ...more }: OperatorSettings): Cell {
  const { grpcTls, keda, releases, network, runtimes, signingKeyOverlap, snapshots } = more;
  const { namespace, clusterDns, dnsNamespaceLabels, dnsPodLabels, secretsRole, removalRole, serviceAccount } = kubernetes;
  const subject = { kind: "ServiceAccount", name: serviceAccount, namespace } as const;
  return {
    region: needed("cell.region", cell.region),
    domain: needed("cell.domain", cell.domain),
    hasCloudGateway: cell.cloudGateway,
    edge: { scheme: cell.scheme, ports: { ingress: cell.ingressPort, admin: cell.adminPort } },
    clusterDns,
    imageRegistry: needed("images.registry", images.registry).replace(/\/$/, ""),
    runtimeDigests: images.digests,
    redisImage: images.redis,
    imagePullPolicy: images.pullPolicy,
    imagePullSecrets: (images.pullSecrets ?? "").split(",").filter((name) => name !== ""),
    releases: { stable: releases.stable, fast: releases.fast, atOnce: releases.atOnce },
    keyOverlapMs: signingKeyOverlap,
    keda: keda.use,
    prometheusAddress: keda.prometheusAddress,
    grpcTls,
    namespace,
    postgresSecret: postgres.secretName === undefined ? undefined : { name: postgres.secretName, key: postgres.secretKey },
    secretsRole: secretsRole === undefined ? undefined : { clusterRole: secretsRole, subject },
    removalRole: removalRole === undefined ? undefined : { clusterRole: removalRole, subject },
    snapshots: snapshots.use,
    snapshotClass: snapshots.className,
    deletionStuckMs: DELETION_STUCK_MS,
    allowPolicyDisable,
    database: { cidrs: network.postgresCidrs, port: network.postgresPort },
    monitoring: { namespaceLabels: network.monitoringNamespaceLabels, podLabels: network.monitoringPodLabels },
    tracingEndpoint: runtimes.tracingEndpoint,
    collector: {
      namespaceLabels: network.collectorNamespaceLabels,
      podLabels: network.collectorPodLabels,
      cidrs: network.collectorCidrs,
      port: network.collectorPort,
    },
    dns: { namespaceLabels: dnsNamespaceLabels, podLabels: dnsPodLabels },
  };
}

function needed(name: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw new PerdureError("OPS0001", `'${name}' must be set`);
}
