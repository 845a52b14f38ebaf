/**
 * Why: the worker as a process of a cluster: partitions in Redis by lease, services as the registry tells them, answers over gRPC.
 *
 *     Redis ▸ registry's state ▸ endpoint transports ▸ leads what is its share ▸ gRPC door ▸ reads subscribed topics
 *
 * Told to stop it gives its partitions away one by one before anything else of it closes.
 */
import { randomUUID } from "node:crypto";
import { type Clock, Secret } from "@perdure/base";
import { mutualTlsOf, openGrpcDoor, openRegistryClient, redisOptionsOf, required } from "@perdure/cluster";
import { partitionsDefinition, partitionsHandlers } from "@perdure/driver-grpc";
import { createHttpTransport } from "@perdure/driver-http2";
import { createKafkaSource } from "@perdure/driver-kafka";
import { createLambdaTransport } from "@perdure/driver-lambda";
import {
  agreedPartitionCount,
  connectRedis,
  type RedisConnections,
  RedisLeases,
  RedisMembership,
  RedisPartitionStore,
} from "@perdure/driver-redis";
import { createRequestIdentity, type EndpointTransport } from "@perdure/invoker";
import { type ProcessPorts, type ReadyFacts, readSettingFile, requestHeadersOf, untilAvailable } from "@perdure/role";
import { openProbes } from "@perdure/role/http";
import { tracedTransport } from "@perdure/role/tracing";
import { runSubscriptions } from "@perdure/subscription";
import { type ClusterWorker, createClusterWorker } from "../cluster/cluster-worker.js";
import { MEMBER_MS } from "../cluster/limits.js";
import { invokerOptionsOf } from "../config.js";
import { invokerMetrics } from "../metrics.js";
import { countUnfinished } from "../usage.js";
import type { Settings } from "./config.js";

/**
 * Starts everything as parts of the lifecycle and resolves when the worker answers for partitions; until Redis and a registry have
 * been heard the process is not ready. Rejects with RT0004 (address), OPS0001 (settings), STO0003 (data of another version).
 */
export async function startWorker(settings: Settings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, tracer, clock, random, logger } = ports;
  const tls = await lifecycle.prepare(() => mutualTlsOf(settings.tls));
  const registries = await lifecycle.prepare(() => required("registry.addresses", settings.registry.addresses));
  const redisOptions = await lifecycle.prepare(() => redisOptionsOf(settings.redis, "perdure-worker"));
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  const environment = settings.environmentName;

  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const redis = await lifecycle.start("Redis", () =>
    untilAvailable("Redis", () => connectRedis(redisOptions, { clock, logger }), ports, lifecycle.stopping),
  );
  const partitionCount = await lifecycle.awaitPart("number of partitions", () =>
    untilAvailable(
      "Redis",
      () => agreedPartitionCount(redis, environment, settings.worker.numPartitions),
      ports,
      lifecycle.stopping,
    ),
  );
  const client = await lifecycle.start("registry", () =>
    openRegistryClient({ addresses: registries, tls }, true, { clock, logger }),
  );
  await lifecycle.awaitPart("registry's state", () => client.untilKnown(lifecycle.stopping));

  const late: { worker: ClusterWorker | undefined } = { worker: undefined };
  const traced = (plain: EndpointTransport): EndpointTransport =>
    tracer.enabled ? tracedTransport(plain, () => late.worker?.partitions, { tracer, clock, random, logger }) : plain;
  const http = await lifecycle.start("endpoint transport", () => traced(createHttpTransport({ clock, random })));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId };
  const lambda = await lifecycle.start("Lambda transport", () => traced(createLambdaTransport(lambdaOptions)));

  // Bound before the worker is on the list of workers: its address goes with its name.
  const door = await lifecycle.start("gRPC", () => openGrpcDoor(settings.grpc, tls));
  const id = `${settings.nodeName}-${randomUUID()}`;
  const address = settings.advertisedAddress ?? `localhost:${door.port}`;
  const store = new RedisPartitionStore(redis, { environment, holder: id });
  const requestHeaders = requestHeadersOf(settings);
  const open = () =>
    createClusterWorker(
      {
        store,
        ...leadershipPorts(redis, environment, id, clock),
        registry: client.registry,
        transports: { http, lambda },
        identity,
        clock,
        random,
        logger,
        metrics: invokerMetrics(metrics),
        tls,
      },
      {
        id,
        address,
        partitionCount,
        cleanupIntervalMs: settings.worker.cleanupInterval,
        invoker: invokerOptionsOf(settings.worker, requestHeaders, settings.experimentalEnableVqueues),
      },
    );
  const worker = await lifecycle.start("worker", async () => {
    const opened = await untilAvailable("Redis", open, ports, lifecycle.stopping);
    return { ...opened, drain: () => opened.drain(), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  });
  late.worker = worker;
  metrics.observed({ type: "gauge", name: "perdure_worker_partitions", help: "Partitions led" }, () => worker.leading().length);

  const topicLogger = logger.child({ component: "subscriptions" });
  const source = createKafkaSource({ clock, logger: topicLogger });
  const topics = { registry: client.registry, source, deliveries: worker.deliveries, clock, logger: topicLogger };
  const subscriptions = await lifecycle.start("subscriptions", () => runSubscriptions(topics));
  const live = {
    led: () => worker.leading(),
    status: worker.led.status.bind(worker.led),
    statuses: worker.led.statuses.bind(worker.led),
    flowRows: worker.led.flowRows.bind(worker.led),
    flowLimits: worker.led.flowLimits.bind(worker.led),
    flowWait: worker.led.flowWait.bind(worker.led),
    subscriptionStatuses: () => subscriptions.statuses(),
    countUsage: (deployment: Parameters<typeof countUnfinished>[2], services: readonly string[]) =>
      countUnfinished(store, worker.leading(), deployment, services),
  };
  door.serve("perdure.control.v1.Partitions", partitionsDefinition, partitionsHandlers({ ...worker.served, live }));
  return {
    grpc: address,
    probes: `http://localhost:${probes.port}/readyz`,
    partitions: String(partitionCount),
    identity: identity?.publicKey,
  };
}

function leadershipPorts(redis: RedisConnections, environment: string, id: string, clock: Clock) {
  return {
    leases: new RedisLeases(redis, { environment, worker: id }, clock),
    membership: new RedisMembership(redis, { environment, memberMs: MEMBER_MS }),
  };
}

function identityOf({ requestIdentityPrivateKeyPemFile: file }: Settings, clock: Clock) {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}
