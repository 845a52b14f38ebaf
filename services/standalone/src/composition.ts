/**
 * Composes the single process: embedded drivers, the roles' own functions on them, and direct references where a cluster uses clients.
 *
 *     directories ▸ stores ▸ registry ▸ worker (leads all partitions) ▸ admin API ▸ ingress ▸ subscriptions
 *
 * Sources of work start last: callers and topics would fill the event loop in which everything else is still starting.
 */
import { type Clock, PerdureError, Secret } from "@perdure/base";
import { createRequestIdentity, type EndpointTransport, type RequestIdentity } from "@perdure/endpoint-transport";
import { createHttpTransport, type HttpTransportDeps } from "@perdure/http-client";
import { createIngress, type Ingress, ingressMetrics, ingressOptionsOf, observeIngress } from "@perdure/ingress-gateway";
import {
  createInvokerWorker,
  type InvokerWorker,
  invokerOptionsOf,
  observeSubscriptions,
  observeWorker,
  type WorkerMetrics,
  workerMetrics,
} from "@perdure/invoker-worker";
import { createKafkaSource } from "@perdure/kafka";
import { createLambdaTransport } from "@perdure/lambda";
import type { LevelStore } from "@perdure/leveldb";
import {
  egressGuardOf,
  type ProcessPorts,
  readSettingFile,
  recordScopesOf,
  requestHeadersOf,
  type TunnelSetup,
  tunnelsOf,
} from "@perdure/process-kit";
import { checkAddress, openListener } from "@perdure/process-kit/http";
import type { RegistryRole } from "@perdure/registry";
import { createSubscriptions, type Deliveries, type Subscriptions } from "@perdure/subscriptions";
import { tracedEdge } from "@perdure/telemetry";
import { invocationSpans, invocationTracing, recordSpans } from "@perdure/telemetry/tracing";
import { createTunnelTransport } from "@perdure/tunnel";
import type { StandaloneSettings } from "./config.js";
import { openAdmin } from "./embedded-admin.js";
import { openRegistry } from "./embedded-registry.js";
import { startEnvironmentEvents } from "./environment-events.js";
import { limitedPartitions, type StorageFull, storageIsFull } from "./limited-partitions.js";
import { STORAGE_HELD_RETRY_MS } from "./limits.js";
import type { CheckedSettings, EndpointAccess, Foundation, Roles, WorkingRoles } from "./parts.js";
import { type GuardOptions, ingressGuard } from "./runtime-guard.js";
import { StorageLimit } from "./storage-limit.js";
import { openStores } from "./stores.js";

/** Addresses at which the listeners were bound; different from the settings when those have port 0. */
export interface BoundPorts {
  readonly ingressPort: number;
  readonly adminPort: number;
  /** Public key with which endpoints check signatures; undefined when requests are not signed. */
  readonly identityPublicKey: string | undefined;
}

/**
 * Starts everything as parts of the lifecycle and resolves when both listeners are open. Rejects with RT0004 (address), RT0005 (locked),
 * RT0009, META0010, META0011 (version of a directory), META0005 (damaged metadata), STO0005 (directories that do not belong together),
 * STO… (storage), OPS0001 (identity key).
 */
export async function startStandalone(settings: StandaloneSettings, ports: ProcessPorts): Promise<BoundPorts> {
  const { lifecycle } = ports;
  const checked = await checkSettings(settings, ports);
  const stores = await openStores(settings, ports);
  const endpoints = await openEndpoints(settings, checked.tunnels, ports);
  const foundation: Foundation = { settings, ...checked, ...stores, ...endpoints, tracing: invocationTracing(ports) };

  const registry = await lifecycle.prepare(() => openRegistry(foundation, ports));
  const worker = await startWorker(foundation, registry, ports);
  const storage = await startStorageLimit(foundation, worker, ports);
  const partitions = limitedPartitions(worker.partitions, storage);
  const working = { ...foundation, registry, worker, storage, partitions };
  const ingress = buildIngress(working, ports);
  const subscriptions = buildSubscriptions(working, ports);
  const roles: Roles = { ...working, ingress, subscriptions };

  const adminListener = await openAdmin(roles, ports);
  const ingressListener = await lifecycle.start("ingress", () =>
    openListener(
      settings.ingress,
      (address) => ingress.listen(address),
      () => ingress.close(),
    ),
  );
  await startSubscriptions(roles, ports);
  await startEnvironmentEvents(roles, ports);
  const identityPublicKey = checked.identity?.publicKey;
  return { ingressPort: ingressListener.port, adminPort: adminListener.port, identityPublicKey };
}

async function checkSettings(settings: StandaloneSettings, { lifecycle, clock }: ProcessPorts): Promise<CheckedSettings> {
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  const listenerGuards = await lifecycle.prepare(() => guardsOf(settings));
  const tunnels = await lifecycle.prepare(() => tunnelsOf(settings));
  // Before any partition is led or work resumed: an unreachable server should not run handlers.
  await lifecycle.prepare(() => checkAddress(settings.ingress, "ingress.bind-port"));
  await lifecycle.prepare(() => checkAddress(settings.admin, "admin.bind-port"));
  await lifecycle.prepare(() => recordScopesOf(settings));
  return { identity, listenerGuards, tunnels };
}

/** Throws OPS0001 when the file with the secret cannot be read or is empty. */
function guardsOf({ runtime: { secretFile, mode } }: StandaloneSettings): GuardOptions {
  const isSuspended = mode === "suspended";
  if (secretFile === undefined) return { secret: undefined, isSuspended };
  const secret = readSettingFile("runtime.secret-file", secretFile).trim();
  if (secret === "") throw new PerdureError("OPS0001", `'runtime.secret-file' ${secretFile} is empty`);
  return { secret: new Secret(secret), isSuspended };
}

/** Throws OPS0001 when the file cannot be read or holds anything but one Ed25519 key. */
function identityOf({ requestIdentityPrivateKeyPemFile: file }: StandaloneSettings, clock: Clock): RequestIdentity | undefined {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}

async function openEndpoints(
  settings: StandaloneSettings,
  tunnels: TunnelSetup | undefined,
  { lifecycle, clock, random, logger }: ProcessPorts,
): Promise<EndpointAccess> {
  const guard = egressGuardOf(settings.egress, logger);
  const plain = createHttpTransport({ clock, random, guard });
  const http = await lifecycle.start("endpoint transport", () => openTransport(tunnels, plain, { clock, random }));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId, rolesOnly: guard !== undefined };
  const lambda = await lifecycle.start("Lambda transport", () => createLambdaTransport(lambdaOptions));
  return { guard, plain, transports: { http, lambda } };
}

/** Reaches endpoints behind tunnels too, when there are some: the proxy belongs to the operator, so the guard does not check it. */
function openTransport(tunnels: TunnelSetup | undefined, plain: EndpointTransport, deps: HttpTransportDeps): EndpointTransport {
  if (tunnels === undefined) return plain;
  const { access, ca } = tunnels;
  const toProxy = createHttpTransport(deps, ca === undefined ? {} : { trustedCertificates: ca });
  return createTunnelTransport({ plain, toProxy }, access);
}

async function startWorker(foundation: Foundation, registry: RegistryRole, ports: ProcessPorts): Promise<InvokerWorker> {
  const { lifecycle, metrics, clock } = ports;
  const { partitionCount, plain } = foundation;
  const observers = workerMetrics(metrics);
  const worker = await lifecycle.start("worker", () => createWorker(foundation, registry, observers, ports));
  const partitionCounts = () => ({ leading: partitionCount, taking: 0, yielding: 0 });
  const observed = { ...worker, partitionCounts, partitionCount, connections: () => plain.connections() };
  observeWorker(metrics, observed, observers, clock);
  return worker;
}

function createWorker(
  { settings, store, transports, tracing, identity, partitionCount }: Foundation,
  registry: RegistryRole,
  metrics: WorkerMetrics,
  { lifecycle, clock, random, logger }: ProcessPorts,
): Promise<InvokerWorker> {
  return createInvokerWorker(
    {
      store,
      registry,
      transports,
      tracing,
      identity,
      clock,
      random,
      logger,
      metrics,
      onFatal: (error) => lifecycle.fail(error),
    },
    {
      partitionCount,
      cleanupIntervalMs: settings.worker.cleanupInterval,
      undoBytesMax: settings.undo.bytesMax,
      throttleKeysMax: settings.worker.throttleKeysLimit,
      isSuspended: settings.runtime.mode === "suspended",
      invoker: invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues),
    },
  );
}

async function startStorageLimit(
  { settings, level }: Foundation,
  worker: InvokerWorker,
  ports: ProcessPorts,
): Promise<StorageLimit | undefined> {
  const bytesMax = settings.limits.storedBytes;
  if (bytesMax === undefined) return undefined;
  return ports.lifecycle.start("storage limit", () => openStorageLimit(bytesMax, level, worker, ports));
}

function openStorageLimit(
  bytesMax: number,
  storage: LevelStore,
  worker: InvokerWorker,
  { clock, logger }: ProcessPorts,
): Promise<StorageLimit> {
  const { code, detail } = storageIsFull(bytesMax);
  const reason = { errorCode: code, message: detail, nextRetryDelayMs: STORAGE_HELD_RETRY_MS };
  const onHeld = (isHeld: boolean): void => worker.hold(isHeld ? reason : undefined);
  return StorageLimit.open({ storage, onHeld, clock, logger }, bytesMax);
}

function buildIngress(roles: WorkingRoles, ports: ProcessPorts): Ingress {
  const { settings, registry, partitions, tracing, storage, listenerGuards } = roles;
  const { metrics, clock, random, logger } = ports;
  const ingress = createIngress(
    {
      registry,
      partitions,
      clock,
      random,
      logger: logger.child({ component: "ingress" }),
      metrics: ingressMetrics(metrics),
      startSpan: tracing === undefined ? undefined : invocationSpans(tracing),
      edge: tracedEdge(ports, "server"),
    },
    {
      ...ingressOptionsOf(settings.ingress, settings.experimentalEnableVqueues),
      http: { guard: ingressGuard({ ...listenerGuards, storage }) },
    },
  );
  observeIngress(metrics, ingress, () => 0);
  return ingress;
}

function buildSubscriptions(working: WorkingRoles, { clock, logger: root }: ProcessPorts): Subscriptions {
  const { settings, registry, worker, storage, guard, tracing } = working;
  const logger = root.child({ component: "subscriptions" });
  const source = createKafkaSource({ clock, logger, guard, awsExternalId: settings.awsAssumeRoleExternalId });
  return createSubscriptions({
    scopesEnabled: recordScopesOf(settings),
    registry,
    source,
    deliveries: storage === undefined ? worker.deliveries : deliveriesUntilFull(worker.deliveries, storage),
    clock,
    logger,
    traceRecord: tracing === undefined ? undefined : recordSpans(tracing),
  });
}

/** A suspended server consumes no topics. */
async function startSubscriptions({ listenerGuards, subscriptions }: Roles, { lifecycle, metrics }: ProcessPorts): Promise<void> {
  if (listenerGuards.isSuspended) return;
  await lifecycle.start("subscriptions", () => {
    subscriptions.start();
    return subscriptions;
  });
  observeSubscriptions(metrics, subscriptions);
}

/** Records wait in their topics. */
function deliveriesUntilFull({ partitionCount, deliver }: Deliveries, storage: StorageFull): Deliveries {
  return {
    partitionCount,
    deliver(record, delivered, undelivered) {
      if (storage.isFull) undelivered();
      else deliver(record, delivered, undelivered);
    },
  };
}
