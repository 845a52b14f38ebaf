/**
 * The controllers of services and of hosted environments, and the changes that trigger them: of the object, its parts, and what it refers
 * to.
 */

import { nodeTransport } from "@perdure/admin-client/node";
import type { Clock, Logger, Random } from "@perdure/base";
import type { CloudEnvironment } from "@perdure/custom-resources";
import { type EventRecorder, type KubernetesClient, keyOf, type MetadataOnly, resources } from "@perdure/kubernetes";
import type { Edge } from "@perdure/telemetry";
import type { ObjectApplier } from "./applier.js";
import type { Caches } from "./caches.js";
import type { Cell } from "./cell.js";
import { reconcileCloudEnvironment } from "./cloud-environment/reconcile.js";
import { Controller, type ControllerOptions, type Named } from "./controller.js";
import type { Definitions } from "./definitions.js";
import { reportingFailures } from "./failure-reports.js";
import type { OperatorMetrics } from "./metrics.js";
import { ServiceReferences } from "./references.js";
import { addressesOf, type OperatorAddresses } from "./service-deployment/addresses.js";
import { AdminClients } from "./service-deployment/admin-clients.js";
import { type ServiceDeploymentOptions, ServiceDeployments } from "./service-deployment/reconcile.js";
import { priorityAtStart, Urgency } from "./urgency.js";

interface ServicesAndTunnelsPorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly caches: Caches;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly metrics: OperatorMetrics;
  /** Undefined: no tracing. */
  readonly edge?: Edge | undefined;
  readonly definitions: Pick<Definitions, "outdated">;
}

export interface ServicesAndTunnelsOptions extends ControllerOptions, ServiceDeploymentOptions {
  /** Addresses of runtimes; those of the cell when absent. */
  readonly addresses?: OperatorAddresses | undefined;
}

interface ServicesAndTunnels extends Disposable {
  /** Works until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
  /** Enqueues all objects of a kind. */
  enqueueAll(plural: string): void;
}

export function servicesAndTunnels(options: ServicesAndTunnelsOptions, ports: ServicesAndTunnelsPorts): ServicesAndTunnels {
  const { caches, cell, clock, random, metrics, logger } = ports;
  const addresses = options.addresses ?? addressesOf(cell);
  const transport = nodeTransport();
  const adminClients = new AdminClients({ clock, random, transport: transport.send });
  const more = { ...ports, adminClients, addresses };
  const controllerPorts = { clock, logger: logger.child({ component: "controller" }), metrics, edge: ports.edge };
  const deployments = new ServiceDeployments(more, options);
  const services = new Controller(
    "ServiceDeployment",
    (key, signal) => {
      const current = () => caches.serviceDeployments.get(...namesOf(key));
      return reportingFailures(key, { current, firstStatus: {} }, ports, signal, (own) => deployments.reconcile(key, own));
    },
    controllerPorts,
    options,
  );
  const reconcileCloud = (name: string, signal: AbortSignal) => {
    const current = () => caches.cloudEnvironments.get(name);
    return reportingFailures(name, { current, firstStatus: {} }, ports, signal, (own) =>
      reconcileCloudEnvironment(name, more, own),
    );
  };
  const clouds = new Controller("CloudEnvironment", reconcileCloud, controllerPorts, options);
  wake(caches, services, clouds);

  const servicesNow = () =>
    [...caches.serviceDeployments.values()].map(
      (one): Named => [keyOf(one.metadata.name, one.metadata.namespace), priorityAtStart(one)],
    );
  const cloudsNow = () => [...caches.cloudEnvironments.values()].map((one): Named => [one.metadata.name, priorityAtStart(one)]);
  return {
    async run(signal) {
      await Promise.all([services.run(servicesNow(), signal), clouds.run(cloudsNow(), signal)]);
    },
    enqueueAll(plural) {
      if (plural === resources.serviceDeployments.plural) for (const [key] of servicesNow()) services.enqueue(key, "resync");
      if (plural === resources.cloudEnvironments.plural) for (const [name] of cloudsNow()) clouds.enqueue(name, "resync");
    },
    [Symbol.dispose]() {
      transport[Symbol.dispose]();
    },
  };
}

/** Splits a key `namespace/name`. */
function namesOf(key: string): [name: string, namespace: string] {
  const [namespace = "", name = ""] = key.split("/");
  return [name, namespace];
}

function wake(caches: Caches, services: Controller, clouds: Controller): void {
  const references = new ServiceReferences(caches.serviceDeployments);
  const enqueueServices = (keys: Iterable<string>): void => {
    for (const key of keys) services.enqueue(key, "progress");
  };
  const urgency = { services: new Urgency(), clouds: new Urgency() };
  caches.serviceDeployments.onChange((deployment, change) => {
    const { name, namespace } = deployment.metadata;
    services.enqueue(keyOf(name, namespace), urgency.services.of(deployment, change));
  });
  caches.cloudEnvironments.onChange((cloud, change) => {
    const { metadata } = cloud;
    clouds.enqueue(metadata.name, urgency.clouds.of(cloud, change));
    if (change !== "resync") enqueueServices(references.toCloudEnvironment(metadata.name));
  });
  caches.environments.onChange(({ metadata }, change) => {
    if (change !== "resync") enqueueServices(references.toEnvironment(metadata.name));
  });
  caches.secrets.onChange(({ metadata }, change) => {
    if (change === "resync") return;
    for (const cloud of caches.cloudEnvironments.values()) {
      if (!refersTo(cloud, metadata.name)) continue;
      clouds.enqueue(cloud.metadata.name, "progress");
      enqueueServices(references.toCloudEnvironment(cloud.metadata.name));
    }
  });
  const kinds = [
    resources.replicaSets,
    resources.services,
    resources.autoscalers,
    resources.deployments,
    resources.networkPolicies,
  ];
  for (const kind of kinds) {
    caches.of(kind)?.onChange(({ metadata }, change) => {
      if (change !== "resync") enqueueOwner(metadata, services, clouds);
    });
  }
}

const refersTo = ({ spec }: CloudEnvironment, secret: string): boolean => spec.authentication.secretRef.name === secret;

function enqueueOwner(
  { ownerReferences = [], namespace }: MetadataOnly["metadata"],
  services: Controller,
  clouds: Controller,
): void {
  for (const { kind, name, controller } of ownerReferences) {
    if (controller !== true) continue;
    if (kind === resources.serviceDeployments.kind) services.enqueue(keyOf(name, namespace), "progress");
    if (kind === resources.cloudEnvironments.kind) clouds.enqueue(name, "progress");
  }
}
