/**
 * Composes the single process: embedded drivers, the roles' own functions on them, and direct references where a cluster uses clients.
 *
 *     directories ▸ stores ▸ registry ▸ worker (leads the partitions) ▸ admin API ▸ ingress ▸ subscriptions
 *
 * With several threads each further one leads a part of the partitions and has a worker and an ingress of its own (`threads/`).
 * Sources of work start last: callers and topics would fill the event loop in which everything else is still starting.
 */
import { observeSubscriptions } from "@perdure/invoker-worker";
import { createKafkaSource } from "@perdure/kafka";
import { type ProcessOrigin, type ProcessPorts, recordScopesOf, threadSetup } from "@perdure/process-kit";
import { type BoundListener, checkUnshared, openListener } from "@perdure/process-kit/http";
import { createSubscriptions, type Deliveries, type Subscriptions } from "@perdure/subscriptions";
import { invocationTracing, recordSpans } from "@perdure/telemetry/tracing";
import { buildIngress } from "./callers.js";
import { checkSettings } from "./checked-settings.js";
import type { StandaloneSettings } from "./config.js";
import { openAdmin } from "./embedded-admin.js";
import { openRegistry } from "./embedded-registry.js";
import { openEndpoints } from "./endpoint-access.js";
import { startEnvironmentEvents } from "./environment-events.js";
import { startWorker } from "./leading.js";
import { limitedPartitions, type StorageFull, storageIsFull } from "./limited-partitions.js";
import { STORAGE_HELD_RETRY_MS } from "./limits.js";
import type { Foundation, LeadingRoles, Roles, WorkingRoles } from "./parts.js";
import { StorageLimit } from "./storage-limit.js";
import { openStores } from "./stores.js";
import type { ThreadLeadership } from "./threads/methods.js";
import type { ShardThreads } from "./threads/shard-threads.js";

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
export async function startStandalone(
  settings: StandaloneSettings,
  ports: ProcessPorts,
  origin: ProcessOrigin,
): Promise<BoundPorts> {
  const { lifecycle } = ports;
  const checked = await checkSettings(settings, ports);
  const stores = await openStores(settings, ports);
  const endpoints = await openEndpoints(settings, checked.tunnels, ports);
  const bases = { settings, ...checked, ...stores, ...endpoints, tracing: invocationTracing(ports) };
  const registry = await lifecycle.prepare(() => openRegistry(bases, ports));
  const shards = await startShards({ ...bases, registry }, ports, origin);
  const foundation: Foundation = { ...bases, shards, remote: shards?.peers.remote };
  const worker = await startWorker(foundation, registry, ports);
  await connectShards({ ...foundation, registry, worker }, ports);
  const storage = await startStorageLimit({ ...foundation, registry, worker }, ports);
  const partitions = limitedPartitions(worker.partitions, storage);
  const working = { ...foundation, registry, worker, storage, partitions };
  const ingress = buildIngress(working, ports);
  const subscriptions = buildSubscriptions(working, ports);
  const roles: Roles = { ...working, ingress, subscriptions };

  const adminListener = await openAdmin(roles, ports);
  const ingressListener = await lifecycle.start("ingress", () => openIngress(roles));
  await startSubscriptions(roles, ports);
  await startEnvironmentEvents(roles, ports);
  const identityPublicKey = checked.identity?.publicKey;
  return { ingressPort: ingressListener.port, adminPort: adminListener.port, identityPublicKey };
}

type ShardBases = Omit<Foundation, "shards" | "remote"> & Pick<LeadingRoles, "registry">;

/** Starts the further threads; undefined when there is one thread, which loads nothing of what connects several. */
async function startShards(
  { settings, place, directory, actions, partitionCount, registry }: ShardBases,
  ports: ProcessPorts,
  origin: ProcessOrigin,
): Promise<ShardThreads | undefined> {
  const { threads } = place;
  if (actions === undefined) return undefined;
  const { ShardThreads } = await ports.lifecycle.prepare(() => import("./threads/shard-threads.js"));
  const options = { threads, partitionCount, directory, actions, setup: threadSetup(origin), node: settings.nodeName };
  const shards = await ports.lifecycle.start("threads", () => new ShardThreads(registry, options, ports));
  origin.onLogFilter((filter) => shards.setLogFilter(filter));
  return shards;
}

/** Resolves when every thread leads its partitions, and all reach each other. */
async function connectShards({ shards, worker }: LeadingRoles, { lifecycle }: ProcessPorts): Promise<void> {
  if (shards === undefined) return;
  const leaders: ThreadLeadership[] = [];
  for (const thread of shards.numbers)
    leaders.push(...(await lifecycle.awaitPart(`worker of thread ${thread}`, () => shards.leads(thread))));
  shards.connect(worker, leaders);
}

/** One port for all threads: the kernel spreads new connections among them. */
function openIngress({ settings, ingress, shards }: Roles): Promise<BoundListener> {
  return openListener(
    settings.ingress,
    async (address) => {
      const bound = await ingress.listen({ ...address, reusePort: shards !== undefined });
      if (shards === undefined) return bound;
      // Another server may have started at the same moment and share the port, for other data.
      checkUnshared(settings.ingress, bound.port, "ingress.bind-port");
      await shards.listen(bound.port);
      return bound;
    },
    async () => void (await Promise.all([ingress.close(), shards?.drainIngress()])),
  );
}

async function startStorageLimit(roles: LeadingRoles, ports: ProcessPorts): Promise<StorageLimit | undefined> {
  const bytesMax = roles.settings.limits.storedBytes;
  if (bytesMax === undefined) return undefined;
  return ports.lifecycle.start("storage limit", () => openStorageLimit(bytesMax, roles, ports));
}

function openStorageLimit(
  bytesMax: number,
  { level: storage, worker, shards }: LeadingRoles,
  { clock, logger }: ProcessPorts,
): Promise<StorageLimit> {
  const { code, detail } = storageIsFull(bytesMax);
  const reason = { errorCode: code, message: detail, nextRetryDelayMs: STORAGE_HELD_RETRY_MS };
  const onState = (isFull: boolean, isHeld: boolean): void =>
    shards?.setStorage({ isFull, heldBecause: isHeld ? reason : undefined });
  const onHeld = (isHeld: boolean): void => worker.hold(isHeld ? reason : undefined);
  return StorageLimit.open({ storage, onHeld, onState, clock, logger }, bytesMax);
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
