/**
 * The ingress as a process of a cluster: its role on the state of registries and workers, received over gRPC. Once it serves, it needs
 * the workers only: without a registry it continues with the last state.
 */
import { openPeerCredentials, openRegistryClient, openWorkers, required } from "@perdure/cluster-kit";
import type { ProcessPorts, ReadyFacts } from "@perdure/process-kit";
import { checkAddress, openListener, openProbes } from "@perdure/process-kit/http";
import { tracedEdge } from "@perdure/telemetry";
import { invocationSpans, invocationTracing } from "@perdure/telemetry/tracing";
import { ingressOptionsOf } from "../config.js";
import { createIngress } from "../ingress.js";
import { ingressMetrics, observeIngress } from "../metrics.js";
import type { IngressGatewaySettings } from "./config.js";

/**
 * Starts everything as parts of the lifecycle and resolves when callers are served; until the state of a registry and of a worker has
 * arrived the process is not ready. Rejects with RT0004 (address), OPS0001 (settings).
 */
export async function startGateway(settings: IngressGatewaySettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const tls = await openPeerCredentials(settings.tls, ports);
  const registries = await lifecycle.prepare(() => required("registry.addresses", settings.registry.addresses));
  const seeds = await lifecycle.prepare(() => required("worker.addresses", settings.worker.addresses));
  await lifecycle.prepare(() => checkAddress(settings.ingress, "ingress.bind-port"));

  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const peerPorts = { clock, logger };
  const workers = await lifecycle.start("workers", () => openWorkers({ addresses: seeds, tls }, peerPorts));
  const client = await lifecycle.start("registry", () => openRegistryClient({ addresses: registries, tls }, false, peerPorts));
  await lifecycle.awaitPart("registry's state", () => client.untilReady(lifecycle.stopping));
  await lifecycle.awaitPart("leaders", () => workers.untilReady(lifecycle.stopping));

  const tracing = invocationTracing(ports);
  const ingress = createIngress(
    {
      registry: client.registry,
      readRegistries: () => client.registry.snapshots(),
      partitions: workers.partitions,
      clock,
      random,
      logger: logger.child({ component: "ingress" }),
      metrics: ingressMetrics(metrics),
      startSpan: tracing === undefined ? undefined : invocationSpans(tracing),
      edge: tracedEdge(ports, "server"),
    },
    ingressOptionsOf(settings.ingress, settings.experimentalEnableVqueues),
  );
  observeIngress(metrics, ingress, () => client.registry.syncAgeMs);
  const listener = await lifecycle.start("ingress", () =>
    openListener(
      settings.ingress,
      (address) => ingress.listen(address),
      () => ingress.close(),
    ),
  );
  return {
    ingress: settings.ingress.advertisedAddress ?? `http://localhost:${listener.port}/`,
    probes: `http://localhost:${probes.port}/readyz`,
  };
}
