/** The model of `docs/operating/scale.md`: how much each resource of a cluster can carry, and which is used up first. No I/O. */
import type { Values, WorkCost } from "./costs.ts";

/** One environment as a cluster of processes, each with one processor. */
export interface Shape {
  readonly workers: number;
  readonly gateways: number;
  readonly redisNodes: number;
  /** Servers of PostgreSQL that share the archive of this load. */
  readonly databases: number;
}

export interface Capacity {
  readonly resource: string;
  /** Invocations per second at which the resource is used as much as the model permits; 0 when it is beyond that without any. */
  readonly perSecond: number;
}

/** Processor time of leases and heartbeats, as shares of one processor. */
export interface LeaseLoad {
  /** All Redis nodes together: partitions are spread over them. */
  readonly redisCores: number;
  /** The one node that has the list of workers. */
  readonly listCores: number;
  readonly workerCores: number;
}

const LIST_NODE = "Redis, the node with the list of workers";
const LIST_CORES_MIN = 0.02;
const MICROS = 1e6;
const GIB = 2 ** 30;
const BITS = 8;

export function partitionsOf(workers: number, values: Values): number {
  return Math.min(values.partitionsMax, Math.max(values.partitionsMin, values.partitionsOfWorker * workers));
}

export function spreadOf(workers: number, values: Values): number {
  if (workers < 2) return 1;
  return workers < 4 ? values.spreadOfTwo : values.spread;
}

/** Each worker reads the holders of all partitions, renews its own leases, and receives the list of all workers, in every poll. */
export function leaseLoad(workers: number, partitions: number, values: Values): LeaseLoad {
  const { pollsPerSecond: polls } = values;
  const holders = (polls * workers * partitions) / MICROS;
  const renewals = (polls * partitions) / MICROS;
  const beats = (polls * workers * workers) / MICROS;
  return {
    redisCores: holders * values.holdersRedisMicros + renewals * values.renewRedisMicros,
    listCores: beats * values.beatRedisMicros,
    workerCores:
      (holders * values.holdersWorkerMicros + renewals * values.renewWorkerMicros + beats * values.beatWorkerMicros) / workers,
  };
}

/** What each resource can carry, the scarcest first. */
export function capacitiesOf(shape: Shape, work: WorkCost, values: Values): readonly Capacity[] {
  const { workers, gateways, redisNodes, databases } = shape;
  const { utilization } = values;
  const spread = spreadOf(workers, values);
  const leases = leaseLoad(workers, partitionsOf(workers, values), values);
  const rate = (cores: number, micros: number): number => (Math.max(0, cores) * MICROS) / micros;
  // Partitions are spread evenly over the nodes, and one of them has the list of workers, too.
  const free = utilization - leases.redisCores / redisNodes;
  const capacities: Capacity[] = [
    { resource: "workers", perSecond: rate(workers * (utilization - leases.workerCores), work.workerMicros * spread) },
    { resource: "gateways", perSecond: rate(gateways * utilization, work.gatewayMicros * spread) },
    { resource: "Redis, processor", perSecond: redisNodes * rate(free, work.redisMicros * spread) },
    { resource: LIST_NODE, perSecond: redisNodes * rate(free - leases.listCores, work.redisMicros * spread) },
    { resource: "Redis, network", perSecond: (redisNodes * utilization * values.redisGbit * 1e9) / BITS / work.redisBytes },
    {
      resource: "Redis, memory",
      perSecond: (redisNodes * values.redisMemoryGib * GIB) / (values.archiveAgeSeconds * values.endedBytes),
    },
    { resource: "PostgreSQL", perSecond: rate(databases * values.databaseProcessors * utilization, values.archiveMicros) },
  ];
  // A list that costs next to nothing does not limit anything.
  const counted = leases.listCores < LIST_CORES_MIN ? capacities.filter(({ resource }) => resource !== LIST_NODE) : capacities;
  return counted.sort((a, b) => a.perSecond - b.perSecond);
}

/** The smallest environment that carries the rate; undefined when none does within `workersMax`. */
export function shapeFor(perSecond: number, work: WorkCost, values: Values, workersMax = 1_000): Shape | undefined {
  const isEnough = (shape: Shape, resource: string): boolean =>
    capacitiesOf(shape, work, values).every(
      (capacity) => !capacity.resource.startsWith(resource) || capacity.perSecond >= perSecond,
    );
  let shape: Shape = { workers: 1, gateways: 1, redisNodes: 1, databases: 1 };
  const grow = (name: keyof Shape, resource: string, max: number): boolean => {
    while (!isEnough(shape, resource) && shape[name] < max) shape = { ...shape, [name]: shape[name] + 1 };
    return isEnough(shape, resource);
  };
  const hasShape =
    grow("workers", "workers", workersMax) &&
    grow("gateways", "gateways", workersMax) &&
    grow("redisNodes", "Redis", workersMax) &&
    grow("databases", "PostgreSQL", workersMax);
  return hasShape ? shape : undefined;
}

/** The largest number of workers whose heartbeats the one node with their list can carry. */
export function workersOfListMax(values: Values): number {
  return Math.floor(Math.sqrt((values.utilization * MICROS) / (values.pollsPerSecond * values.beatRedisMicros)));
}

/**
 * Milliseconds of a call at a use of `utilization`: at each of its stations a task waits behind others (M/M/1: it takes 1 / (1 − use) times as
 * long), and its commits follow each other.
 */
export function latencyMs(workers: number, work: WorkCost, values: Values): number {
  const stretch = 1 / (1 - values.utilization);
  const micros = (work.gatewayMicros + work.workerMicros + work.redisMicros) * spreadOf(workers, values);
  return (micros * stretch) / 1_000 + work.commits * values.commitMs;
}

/** Milliseconds in which a draining worker has handed over its partitions. */
export function drainMs(workers: number, values: Values): number {
  const own = partitionsOf(workers, values) / workers;
  return (Math.ceil(own / values.handOversAtOnce) * 1_000) / values.pollsPerSecond;
}

export interface Platform {
  readonly environments: number;
  readonly perSecond: number;
  readonly shape: Shape;
  /** All environments together. */
  readonly workers: number;
  readonly redisNodes: number;
  /** Processors of Redis that the load needs: several small environments share a machine. */
  readonly redisCores: number;
  readonly edgeCores: number;
  readonly databases: number;
  readonly archiveBytesPerSecond: number;
  readonly operatorCores: number;
  readonly operatorMib: number;
  readonly createdSeconds: number;
  readonly idleMemoryGib: number;
  readonly idleCores: number;
}

/** Many equal environments that share the edge, PostgreSQL and the operator. Throws when one environment cannot carry its part. */
export function platformOf(environments: number, perSecond: number, work: WorkCost, values: Values): Platform {
  const own = perSecond / environments;
  const shape = shapeFor(own, work, values);
  if (shape === undefined) throw new Error(`no environment carries ${own} invocations a second`);
  const { utilization } = values;
  const cores = (micros: number): number => (perSecond * micros) / MICROS / utilization;
  const leases = leaseLoad(shape.workers, partitionsOf(shape.workers, values), values);
  return {
    environments,
    perSecond,
    shape,
    workers: environments * shape.workers,
    redisNodes: environments * shape.redisNodes,
    redisCores:
      cores(work.redisMicros * spreadOf(shape.workers, values)) +
      (environments * (leases.redisCores + leases.listCores)) / utilization,
    edgeCores: cores(values.edgeMicros),
    databases: Math.ceil(cores(values.archiveMicros) / values.databaseProcessors),
    archiveBytesPerSecond: perSecond * values.archiveBytes,
    operatorCores: environments * values.operatorCores,
    operatorMib: values.operatorFirstMib + Math.max(0, environments - values.operatorFirst) * values.operatorMib,
    createdSeconds: environments / values.createdPerSecond,
    idleMemoryGib: (environments * values.idleEnvironmentMib) / 1_024,
    idleCores: environments * values.idleEnvironmentCores,
  };
}
