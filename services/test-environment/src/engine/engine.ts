/**
 * Composes the roles of a runtime in this process, on stores in memory: the same functions that a server composes, with the clock of a
 * test and a transport that the test observes.
 */
import { browserGuard, createAdminApi, createCallEndpoint, openBatches, type RequestListener } from "@perdure/admin-api";
import { type Clock, type Logger, type PerdureError, systemClock, systemRandom } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import { createHttpTransport } from "@perdure/http-client";
import { createHttpPort, type RequestGuard } from "@perdure/http-server";
import { createIngress } from "@perdure/ingress-gateway";
import { invokerDefaults } from "@perdure/invoker";
import { createInvokerWorker, type InvokerWorker } from "@perdure/invoker-worker";
import { createLambdaTransport } from "@perdure/lambda";
import { createMemoryMetadataStore, type MetadataStore } from "@perdure/metadata";
import { createDiscoveryFetcher, createRegistry, openSchedules, type RegistryRole, SERVICE_DEFAULTS } from "@perdure/registry";
import { protocolVersionMax } from "@perdure/service-protocol";
import type { KvPartitionStore } from "@perdure/storage";
import { docsUrl } from "@perdure/telemetry/error-page";
import { ATTEMPTS_MAX, CLEANUP_INTERVAL_MS, PARTITION_COUNT } from "../limits.js";
import type { EngineActivity } from "../time/activity.js";
import { withRealTimers } from "../time/test-clock.js";
import { type ObservedTransport, observedTransport, type TransportObserver } from "../transport/observed-transport.js";
import { TimeShift } from "../transport/time-shift.js";
import { countedPartitions } from "./counted-partitions.js";
import { openStores } from "./counted-store.js";

export interface EngineParts {
  readonly clock: Clock;
  readonly activity: EngineActivity;
  readonly logger: Logger;
  readonly observer: TransportObserver;
  readonly ingressGuard: RequestGuard;
  /** Serves further paths beside the management API. */
  readonly extendAdmin: (managementApi: RequestListener) => RequestListener;
  readonly alwaysReplay: boolean;
  readonly onFatal: (error: PerdureError) => void;
}

export interface Engine extends AsyncDisposable {
  readonly worker: InvokerWorker;
  readonly registry: RegistryRole;
  /** For observers. */
  readonly store: KvPartitionStore;
  readonly transport: ObservedTransport;
  readonly ingressPort: number;
  readonly adminPort: number;
}

const LOOPBACK = { host: "127.0.0.1", port: 0 } as const;

/** Without a limit: pauses by rate would need the clock to move. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

export async function startEngine(parts: EngineParts): Promise<Engine> {
  await using stack = new AsyncDisposableStack();
  const { clock, activity, logger, observer } = parts;
  const edgeClock = withRealTimers(clock);
  const metadata = stack.use(createMemoryMetadataStore());
  const { store, observed } = openStores(activity);
  stack.use(store);
  const plain = stack.use(createHttpTransport({ clock: systemClock, random: systemRandom }));
  const transport = observedTransport(plain, { activity, shift: new TimeShift(clock), observer });
  const lambda = stack.use(createLambdaTransport({ assumeRoleExternalId: undefined, rolesOnly: false }));
  const transports = { http: transport, lambda };
  const registry = await openRegistry(parts, metadata, transports);
  const worker = stack.use(await openWorker(parts, { store, registry, transports }));
  const partitions = countedPartitions(worker.partitions, activity);
  const ingress = createIngress(
    { registry, partitions, clock: edgeClock, random: systemRandom, logger },
    { drainMs: 0, http: { guard: parts.ingressGuard } },
  );
  stack.use(ingress);
  const { port: ingressPort } = await ingress.listen(LOOPBACK);
  const roles = { metadata, store: observed, transports, registry, worker, partitions, ingressPort };
  const adminPort = await openAdmin(parts, roles, stack);
  const owned = stack.move();
  return {
    worker,
    registry,
    store: observed,
    transport,
    ingressPort,
    adminPort,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type Transports = { readonly http: ObservedTransport; readonly lambda: ReturnType<typeof createLambdaTransport> };

function openRegistry({ clock, logger, alwaysReplay }: EngineParts, metadata: MetadataStore, transports: Transports) {
  const edgeClock = withRealTimers(clock);
  const fetcher = createDiscoveryFetcher({ transports, identity: undefined, clock: edgeClock });
  return createRegistry(
    { metadata, fetcher, countUsage: noUsage, clock: edgeClock, random: systemRandom, logger },
    {
      defaults: { ...SERVICE_DEFAULTS, ...(alwaysReplay ? { inactivityTimeoutMs: 0 } : {}) },
      requestHeaders: invokerDefaults.additionalRequestHeaders,
      routingHeaders: [],
      kafkaClusters: new Map(),
    },
  );
}

/** Deployments of an environment end with it. */
const noUsage = () => Promise.resolve({ pinned: 0, unfinishedByService: new Map<string, number>() });

function openWorker(
  { clock, logger, alwaysReplay, onFatal }: EngineParts,
  parts: { readonly store: KvPartitionStore; readonly registry: RegistryRole; readonly transports: Transports },
): Promise<InvokerWorker> {
  return createInvokerWorker(
    { ...parts, identity: undefined, clock, random: systemRandom, logger, metrics: undefined, tracing: undefined, onFatal },
    {
      partitionCount: PARTITION_COUNT,
      cleanupIntervalMs: CLEANUP_INTERVAL_MS,
      invoker: {
        ...invokerDefaults,
        concurrentInvocationsMax: ATTEMPTS_MAX,
        protocolVersionMax,
        pace: { messagesPerSecond: UNLIMITED, bytesPerSecond: UNLIMITED },
        ...(alwaysReplay ? { inactivityTimeoutMsDefault: 0 } : {}),
      },
    },
  );
}

interface AdminRoles {
  readonly metadata: MetadataStore;
  readonly store: KvPartitionStore;
  readonly transports: Transports;
  readonly registry: RegistryRole;
  readonly worker: InvokerWorker;
  readonly partitions: Partitions;
  readonly ingressPort: number;
}

async function openAdmin(
  { clock, logger, extendAdmin }: EngineParts,
  { metadata, store, transports, registry, worker, partitions, ingressPort }: AdminRoles,
  stack: AsyncDisposableStack,
): Promise<number> {
  const edgeClock = withRealTimers(clock);
  const ports = { registry, partitions, metadata, random: systemRandom, logger };
  const schedules = stack.use(await openSchedules({ ...ports, scopesEnabled: true, clock }));
  const insight = { partitionCount: PARTITION_COUNT, store, invoker: worker };
  const batches = stack.use(await openBatches({ ...ports, insight, clock: edgeClock }));
  const managementApi = createAdminApi(
    {
      ...ports,
      schedules,
      insight,
      batches,
      clock: edgeClock,
      subscriptionStatuses: () => [],
      sql: () => Promise.resolve(NO_SQL),
      callEndpoint: createCallEndpoint({ transports, identity: undefined, clock: edgeClock }),
      health: () => ({ live: true, ready: true, waitingFor: [] }),
      metrics: () => "",
      crashAttempt: (id) => worker.cutAttempt(id),
    },
    {
      ingressEndpoint: () => `http://127.0.0.1:${ingressPort}/`,
      docsUrl: docsUrl(undefined),
      clusterName: "test",
      scopesEnabled: true,
      recordScopesEnabled: false,
    },
  );
  const port = createHttpPort(
    { request: extendAdmin(managementApi) },
    { clock: systemClock, logger },
    { guard: browserGuard({ allowedHosts: [] }) },
  );
  stack.defer(() => port.close(0));
  return (await port.listen(LOOPBACK)).port;
}

const NO_SQL = {
  kind: "refused",
  reason: "unavailable",
  message: "a test environment serves no SQL, which would start a process: read journals and invocations instead",
  retryAfterSeconds: undefined,
} as const;
