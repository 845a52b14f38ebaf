/** The ingress of one thread. */
import type { Partitions, RegistryView } from "@perdure/control";
import {
  createIngress,
  type Ingress,
  type IngressOptions,
  type IngressPorts,
  ingressMetrics,
  ingressOptionsOf,
  ingressShareOf,
  observeIngress,
} from "@perdure/ingress-gateway";
import type { ProcessPorts } from "@perdure/process-kit";
import { tracedEdge } from "@perdure/telemetry";
import { invocationSpans } from "@perdure/telemetry/tracing";
import type { StorageFull } from "./limited-partitions.js";
import type { ThreadFoundation } from "./parts.js";
import { ingressGuard } from "./runtime-guard.js";

interface ServedCallers extends ThreadFoundation {
  readonly registry: RegistryView;
  /** Set in threads whose `registry` is a copy. */
  readonly readRegistries?: IngressPorts["readRegistries"];
  /** All partitions, within the storage limit. */
  readonly partitions: Partitions;
  readonly storage: StorageFull | undefined;
}

export function buildIngress(roles: ServedCallers, ports: ProcessPorts): Ingress {
  const { registry, readRegistries, partitions, tracing } = roles;
  const { metrics, clock, random, logger } = ports;
  const ingress = createIngress(
    {
      registry,
      readRegistries,
      partitions,
      clock,
      random,
      logger: logger.child({ component: "ingress" }),
      metrics: ingressMetrics(metrics),
      startSpan: tracing === undefined ? undefined : invocationSpans(tracing),
      edge: tracedEdge(ports, "server"),
    },
    optionsOf(roles),
  );
  observeIngress(metrics, ingress, () => 0);
  return ingress;
}

function optionsOf({ settings, place, storage, listenerGuards }: ServedCallers): IngressOptions {
  const options: IngressOptions = {
    ...ingressOptionsOf(settings.ingress, settings.experimentalEnableVqueues),
    http: { guard: ingressGuard({ ...listenerGuards, storage }) },
  };
  if (place.threads === 1) return options;
  // An invocation that may be in any partition is led where its caller is, so that it needs no other thread.
  return { ...ingressShareOf(options, place.thread, place.threads), preferredPartitions: place.own };
}
