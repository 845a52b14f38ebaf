/** Measured costs of work and of fixed tasks, each with the place where the measurement is recorded. Times are processor time. */

export interface WorkCost {
  readonly name: string;
  readonly workerMicros: number;
  readonly gatewayMicros: number;
  readonly redisMicros: number;
  /** Bytes that a worker sends to Redis. */
  readonly redisBytes: number;
  /** Commits that follow each other in one invocation. */
  readonly commits: number;
}

const CLUSTER = "benchmarks.md, *Cluster*, 2026-11-23, commit 1029017, 64 connections";

/** CPU by parts, and bytes of Redis, of `benchmarks.md`, *Cluster*. */
export const WORK = {
  "no-op": { name: "no-op handler", workerMicros: 348, gatewayMicros: 95, redisMicros: 89, redisBytes: 846, commits: 2 },
  "three-steps": {
    name: "handler with three steps",
    workerMicros: 581,
    gatewayMicros: 108,
    redisMicros: 187,
    redisBytes: 2247,
    commits: 5,
  },
} as const satisfies Readonly<Record<string, WorkCost>>;

/** What a number of the model is, its value, and its source: printed as the first table of the page. */
export interface Assumption {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly source: string;
}

const assumption = (name: string, value: number, unit: string, source: string): Assumption => ({ name, value, unit, source });

const LEASES = "`make microbench FILTER=redis/bench/leases`, 2026-11-27, 1,000 partitions, least of three runs";
const WORKERS = "benchmarks.md, *Cluster*, 2026-11-23, commit 1029017, all processes by the number of workers";
const ARCHIVE = "`make microbench FILTER=postgres/bench/archive`, 2026-11-27, batches of 16";
const OPERATOR = "benchmarks.md, *The operator*, commit a450050";
const CLOUD = "benchmarks.md, *Cloud* and *The cloud's gateway*, 2026-11-21";

/** Memory of the operator at two numbers of environments, from which the model continues in a straight line. */
const OPERATOR_MEMORY = { few: { environments: 500, mib: 504 }, many: { environments: 2_000, mib: 878 } } as const;

/** Rounded to hundredths, which is more than the measurement supports. */
function mibOfEnvironment({ few, many }: typeof OPERATOR_MEMORY): number {
  return Math.round((100 * (many.mib - few.mib)) / (many.environments - few.environments)) / 100;
}

export const ASSUMPTIONS = {
  utilization: assumption("highest use of a resource", 0.6, "", "choice: at 0.6 a queue makes a task 2.5 times as long"),
  spread: assumption("cost with four workers or more / cost with one", 2.37, "", `${WORKERS}: 886 / 374 µs`),
  spreadOfTwo: assumption("cost with two or three workers / cost with one", 1.89, "", `${WORKERS}: 705 / 374 µs`),
  pollsPerSecond: assumption("polls of leases", 4, "/s", "`LEASE_POLL_MS` = 250, libs/engine/partition-processor"),
  handOversAtOnce: assumption("partitions that a draining worker hands over in a poll", 4, "", "`HAND_OVERS_AT_ONCE`"),
  partitionsMin: assumption("partitions of an environment, at least", 24, "", "default of `num-partitions`"),
  partitionsMax: assumption("partitions of an environment, at most", 1_024, "", "setting `num-partitions`"),
  partitionsOfWorker: assumption("partitions for each worker", 10, "", "choice"),
  holdersRedisMicros: assumption("Redis: read the holder of a partition", 5.34, "µs", LEASES),
  holdersWorkerMicros: assumption("worker: the same", 5.05, "µs", LEASES),
  renewRedisMicros: assumption("Redis: renew a lease", 7.36, "µs", LEASES),
  renewWorkerMicros: assumption("worker: the same", 6.39, "µs", LEASES),
  beatRedisMicros: assumption("Redis: list one worker in a heartbeat", 3.12, "µs", LEASES),
  beatWorkerMicros: assumption("worker: the same", 3.56, "µs", LEASES),
  archiveMicros: assumption("PostgreSQL: archive an invocation", 75, "µs", ARCHIVE),
  archiveBytes: assumption("PostgreSQL: bytes on disk of an archived invocation", 711, "B", ARCHIVE),
  databaseProcessors: assumption("processors of a PostgreSQL server", 16, "", "choice"),
  redisGbit: assumption("network of a Redis node", 10, "Gbit/s", "choice"),
  endedBytes: assumption("Redis: an ended invocation until it is archived", 1_401, "B", CLUSTER),
  archiveAgeSeconds: assumption("age at which an invocation is archived", 600, "s", "default of `archive.age`"),
  redisMemoryGib: assumption("memory for data of a Redis node", 22.4, "GiB", "choice: 32 GiB at 70 %"),
  commitMs: assumption(
    "a commit of Redis that waits for its disk",
    1,
    "ms",
    "choice: an SSD; sizing.md measured 3–20 on a shared disk",
  ),
  edgeMicros: assumption("cloud gateway: a request", 247, "µs", `${CLOUD}: 227–247 at 64 connections`),
  idleEnvironmentMib: assumption("memory of an idle environment that is one process", 106, "MiB", CLOUD),
  idleEnvironmentCores: assumption("processors of an idle environment", 0.0045, "", CLOUD),
  operatorCores: assumption("operator: an idle environment", 0.000021, "processors", `${OPERATOR}: 4.2 % with 2,000`),
  operatorFirst: assumption("operator: environments of the smaller measurement", OPERATOR_MEMORY.few.environments, "", OPERATOR),
  operatorFirstMib: assumption("operator: memory with these", OPERATOR_MEMORY.few.mib, "MiB", OPERATOR),
  operatorMib: assumption(
    "operator: memory of a further environment",
    mibOfEnvironment(OPERATOR_MEMORY),
    "MiB",
    `${OPERATOR}: ${OPERATOR_MEMORY.many.mib} MiB with ${OPERATOR_MEMORY.many.environments.toLocaleString("en-US")}`,
  ),
  createdPerSecond: assumption("environments that become ready", 4.3, "/s", `${OPERATOR}: 2,000 in 465 s`),
} as const;

/** Values of the assumptions, some of which a user replaces. */
export type Values = Readonly<Record<keyof typeof ASSUMPTIONS, number>>;

export function valuesOf(replaced: Partial<Values> = {}): Values {
  const { entries, fromEntries } = Object;
  const values = fromEntries(entries(ASSUMPTIONS).map(([name, { value }]) => [name, value])) as Values;
  return { ...values, ...replaced };
}
