/**
 * The operator role: reconciles a cluster with our custom resources. Every process watches; one of them leads and acts, and stops acting
 * before it stops leading. A missing definition, or an API server that does not respond, is waited for (kubernetes.md D8).
 */
import type { Clock, Logger, Random } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import {
  EventRecorder,
  type KubeObject,
  type KubernetesClient,
  LeaseLeadership,
  type Priority,
  resources,
} from "@perdure/kubernetes";
import { prepareEnvironmentDatabase, removeEnvironmentDatabase } from "@perdure/postgres";
import type { Edge } from "@perdure/telemetry";
import { ObjectApplier } from "./applier.js";
import { Caches, type CachesOptions } from "./caches.js";
import type { Cell } from "./cell.js";
import { Controller, type Named } from "./controller.js";
import { Definitions } from "./definitions.js";
import { type DatabaseDriver, EnvironmentDatabases } from "./environment/databases.js";
import { FrontChecks } from "./environment/front-checks.js";
import { OwnWrites } from "./environment/own-writes.js";
import type { EnvironmentReconcilePorts } from "./environment/ports.js";
import { reconcileEnvironment } from "./environment/reconcile.js";
import { RedisChecks } from "./environment/redis-checks.js";
import { ReleaseTurns } from "./environment/release.js";
import { RetainedNotes } from "./environment/retained-notes.js";
import { VolumeRetention } from "./environment/retained-volumes.js";
import { SecretCopies } from "./environment/secret-copies.js";
import { SecretTurns } from "./environment/secret-turns.js";
import { referencesOf } from "./environment/secrets.js";
import { StartChecks } from "./environment/start-checks.js";
import { StatusPacing } from "./environment/status-pacing.js";
import { VolumePoller } from "./environment/volume-poller.js";
import { type ReportedKind, reportingFailures } from "./failure-reports.js";
import { type FrontProber, tcpFrontProber } from "./front-prober.js";
import type { OperatorMetrics } from "./metrics.js";
import { RedisFailover } from "./redis-failover/failover.js";
import { type ServicesAndTunnelsOptions, servicesAndTunnels } from "./services-and-tunnels.js";
import { priorityAtStart, Urgency } from "./urgency.js";
import { type DataLossClient, httpWorkerClient, type WorkerClient } from "./worker-client.js";

export interface OperatorPorts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: OperatorMetrics;
  /** Requests reports from workers; over HTTP when absent. */
  readonly workerClient?: WorkerClient & DataLossClient;
  /** Probes the fronts of environments; by connections when absent. */
  readonly frontProber?: FrontProber;
  /** Makes roles and schemas of environments; in PostgreSQL when absent. */
  readonly database?: DatabaseDriver;
  /** Begins the spans of reconciles. */
  readonly edge?: Edge | undefined;
  /** Called when the operator cannot continue because the API server denies access. */
  readonly onFatal: (cause: unknown) => void;
}

export interface OperatorOptions extends ServicesAndTunnelsOptions, Omit<CachesOptions, "namespace"> {
  readonly cell: Cell;
  /** Identity of this process in the lease; unique per process. */
  readonly identity: string;
  /** Milliseconds between two checks of installed definitions. */
  readonly definitionsAgainMs?: number | undefined;
  readonly lease?: { readonly leaseMs?: number; readonly renewWithinMs?: number; readonly retryMs?: number };
}

export interface Operator extends AsyncDisposable {
  readonly isLeading: boolean;
  /** Returns the resources that the operator waits for before it can work; empty when it watches everything. */
  waitingFor(): readonly string[];
  /** Resolves when it watches everything, or the signal fires. */
  untilWatching(signal: AbortSignal): Promise<void>;
}

const LEASE = "perdure-operator";
const CONTROLLER = "perdure.dev/operator";

/** Watches at once, and works whenever it leads, until it is disposed of. */
export function startOperator(options: OperatorOptions, ports: OperatorPorts): Operator {
  const { client, clock, random, logger, metrics } = ports;
  const { cell, identity } = options;
  const stop = new AbortController();
  const events = new EventRecorder({ controller: CONTROLLER, instance: identity }, ports);
  const caches = new Caches({ ...options, namespace: cell.namespace }, { client, clock, random, logger }, metrics);
  const onFight = (object: KubeObject): void => void reportContention(object, events, caches);
  const applier = new ObjectApplier({ client, cacheOf: (resource) => caches.of(resource), clock, metrics, onFight });
  const onChange = (plural: string): void => {
    if (plural === resources.environments.plural)
      for (const { metadata } of caches.environments.values()) environments.enqueue(metadata.name, "resync");
    more.enqueueAll(plural);
  };
  const definitions = new Definitions({ ...ports, events, onChange }, options.definitionsAgainMs);
  const environmentPorts = environmentPortsOf(cell, { caches, applier, events, definitions }, ports);
  const environments = environmentController(environmentPorts, options, ports.edge);
  const more = servicesAndTunnels(options, { ...ports, applier, caches, cell, events, definitions });
  const leadership = new LeaseLeadership({ namespace: cell.namespace, name: LEASE, identity, ...options.lease }, ports);
  metrics.observed.isLeading = () => leadership.isLeading;

  const lead = (signal: AbortSignal): Promise<void> => leadCell(environmentPorts, environments, more, signal);
  const synced = Promise.all(caches.all().map((cache) => cache.synced));
  const work = async (): Promise<void> => {
    metrics.leader.set(0);
    await definitions.untilServed(stop.signal);
    const checking = definitions.keepChecking(stop.signal);
    const watching = caches.all().map((cache) => cache.run(stop.signal));
    await Promise.race([synced, untilAborted(stop.signal)]);
    await leadership.run(lead, stop.signal);
    await Promise.all([...watching, checking]);
  };
  const working = work().catch((cause: unknown) => {
    if (!stop.signal.aborted) ports.onFatal(cause);
  });

  return {
    get isLeading() {
      return leadership.isLeading;
    },
    waitingFor() {
      const unsynced = caches.all().filter((cache) => !cache.isSynced);
      return [...definitions.missing(), ...unsynced.map(({ resource }) => resource.plural)];
    },
    async untilWatching(signal) {
      await Promise.race([synced, untilAborted(AbortSignal.any([signal, stop.signal]))]);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await working;
      more[Symbol.dispose]();
    },
  };
}

/** Ports for the reconciliation of environments, and all metrics. */
type OperatorEnvironmentPorts = EnvironmentReconcilePorts & Pick<OperatorPorts, "metrics">;

/** Caches, writers and definitions that the kinds of the operator share. */
type SharedPorts = Pick<EnvironmentReconcilePorts, "caches" | "applier" | "events" | "definitions">;

/** Makes the memory that reconciling environments keeps between two reconciles. */
function environmentPortsOf(cell: Cell, shared: SharedPorts, ports: OperatorPorts): OperatorEnvironmentPorts {
  const { client, clock, random, logger, metrics, workerClient = httpWorkerClient, frontProber = tcpFrontProber } = ports;
  const { database: driver = { prepare: prepareEnvironmentDatabase, remove: removeEnvironmentDatabase } } = ports;
  const { caches } = shared;
  return {
    ...shared,
    client,
    cell,
    clock,
    metrics,
    logger,
    workerClient,
    writes: new OwnWrites(),
    turns: new ReleaseTurns(),
    secretTurns: new SecretTurns(cell.releases.atOnce),
    databases: new EnvironmentDatabases({ clock, random, logger, driver }),
    redisChecks: new RedisChecks({ clock, logger }),
    redisFailover: new RedisFailover({ client, cell, clock, logger, metrics, events: shared.events }),
    frontChecks: new FrontChecks({ clock, cell, prober: frontProber }),
    volumePoller: new VolumePoller({ clock, workerClient }),
    retention: new VolumeRetention(clock),
    notes: new RetainedNotes(caches.ownConfigMaps, cell.namespace),
    startChecks: new StartChecks(clock),
    redisStartChecks: new StartChecks(clock),
    statusPacing: new StatusPacing(clock),
    secretCopies: new SecretCopies({ client, clock, watched: caches.secrets, namespace: cell.namespace }),
  };
}

/** Reconciles an environment whenever it, one of its parts, or a Secret that it refers to changes. */
function environmentController(ports: OperatorEnvironmentPorts, options: OperatorOptions, edge: Edge | undefined): Controller {
  const { caches, cell, clock, logger, metrics, writes, secretCopies } = ports;
  const reported: ReportedKind = {
    current(name) {
      const cached = caches.environments.get(name);
      return cached === undefined ? undefined : writes.fresh(cached);
    },
    firstStatus: { phase: "Pending" },
    onWritten: (written) => writes.note(written),
  };
  const reconcile = (name: string, signal: AbortSignal, priority: Priority) => {
    if (priority === "urgent" || priority === "resync") secretCopies.discard(name);
    return reportingFailures(name, reported, ports, signal, (own) => reconcileEnvironment(name, ports, own));
  };
  const controllerPorts = { clock, logger: logger.child({ component: "controller" }), metrics, edge };
  const environments = new Controller("Environment", reconcile, controllerPorts, options);
  const urgency = new Urgency();
  caches.environments.onChange((environment, change) => {
    const priority = urgency.of(environment, change);
    if (priority === "progress") environments.enqueueForParts(environment.metadata.name);
    else environments.enqueue(environment.metadata.name, priority);
  });
  caches.onPartChange(
    (name, isGone) => (isGone ? environments.enqueue(name, "progress") : environments.enqueueForParts(name)),
    (secret) => referringTo(secret, caches.environments.values(), cell),
  );
  return environments;
}

/** Works until the signal fires: this process leads, and begins without memory of what another leader did meanwhile. */
async function leadCell(
  { applier, caches, metrics, turns, secretTurns, secretCopies, statusPacing }: OperatorEnvironmentPorts,
  environments: Controller,
  more: ReturnType<typeof servicesAndTunnels>,
  signal: AbortSignal,
): Promise<void> {
  metrics.leader.set(1);
  applier.discardAll();
  turns.clear();
  secretTurns.clear();
  secretCopies.clear();
  statusPacing.clear();
  const all = [...caches.environments.values()].map((one): Named => [one.metadata.name, priorityAtStart(one)]);
  await Promise.all([environments.run(all, signal), more.run(signal)]);
  metrics.volumes.clear();
  metrics.snapshots.clear(); // The next leader reports them.
  metrics.leader.set(0);
}

function* referringTo(secret: string, environments: Iterable<EnvironmentResource>, cell: Cell): Generator<string> {
  for (const environment of environments) {
    if (referencesOf(environment, cell).some(({ name }) => name === secret)) yield environment.metadata.name;
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

async function reportContention(object: KubeObject, events: EventRecorder, caches: Caches): Promise<void> {
  const environment = caches.environments.get(object.metadata.namespace ?? object.metadata.name);
  if (environment === undefined) return;
  const note = `${object.kind} ${object.metadata.name} is changed again and again by another writer; the operator leaves it alone for a while`;
  await events.record(environment, { type: "Warning", reason: "DriftFight", action: "Reconcile", note });
}
