/**
 * The faults of chaos runs. Each fault strikes, returns the partitions that it affects and the time from which progress is awaited, and is
 * healed again.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { FaultyProxy, NetworkMode } from "./faulty-proxy.js";
import { FREEZE_MS, REFUSAL_MS_MAX } from "./limits.js";
import type { ChaosStage, StagedWorker } from "./stage.js";

/** Counters by name. */
export type FaultFindings = Readonly<Record<string, number>>;

/** Commits of a former leader that Redis refused. */
export const REFUSED = "late commits refused";

interface Struck {
  /** The affected processes, for reports. */
  readonly whom: string;
  readonly partitions: readonly number[];
  /** Time from which progress is awaited, on this process's monotonic clock. */
  readonly sinceMs: number;
  /** The worker whose partitions move to others. */
  readonly leaver?: StagedWorker;
  /** No process crashes: the measure is the longest pause of each partition, including `heal`. */
  readonly inPeace?: boolean;
  /** The leaders keep leading, so that attempts from before the fault count as progress too. */
  readonly anyAttempt: boolean;
  /** Resolves when the fault is undone. Called after progress was observed. */
  heal(): Promise<void>;
  /** Further counters; called after `heal`. */
  findings?(): FaultFindings;
}

export interface Fault {
  readonly name: string;
  /** `briefly`: outages are shorter, for quick runs. */
  strike(stage: ChaosStage, briefly: boolean): Promise<Struck>;
}

/** A worker without a commit for so many checks has nothing to commit; waiting longer, it would give up its leases. */
const HELD_CHECKS_MAX = 40;
const HELD_CHECK_MS = 25;
const MUTE_TRIES_MAX = 40;
/** A commit on the wire: the last of its keys, then a packed list of seven. Scripts of leases have another key after that one. */
const COMMIT = /epoch\r\n\$\d+\r\n\x97/;

const NOTHING = async (): Promise<void> => undefined;

/** Kills the leader of some partitions. */
const killWorker: Fault = {
  name: "kill -9 a worker",
  async strike(stage) {
    const worker = aWorker(stage);
    const partitions = await stage.partitionsOf(worker);
    const sinceMs = performance.now();
    await worker.program.kill();
    return { whom: worker.name, leaver: worker, partitions, sinceMs, anyAttempt: false, heal: () => again(worker) };
  },
};

/**
 * Blocks the worker's connection with a commit and renewals of leases in transit. When reads of rows came first in all of its partitions,
 * no commit follows before they are answered, and it is tried again.
 */
async function holdCommit(toRedis: FaultyProxy): Promise<void> {
  for (let tries = 0; tries < MUTE_TRIES_MAX; tries++) {
    toRedis.become("mute");
    for (let checks = 0; checks < HELD_CHECKS_MAX; checks++) {
      if (toRedis.holds(COMMIT)) return;
      await delay(HELD_CHECK_MS);
    }
    toRedis.become("whole");
    await delay(HELD_CHECK_MS);
  }
  toRedis.become("mute");
}

/**
 * Delays the last writes of a leader until others have taken over; they arrive together with what the leader writes when it resumes, and
 * all of them must be refused.
 */
const freezeWorker: Fault = {
  name: "freeze a leader for longer than its lease",
  async strike(stage) {
    const worker = aWorker(stage);
    const partitions = await stage.partitionsOf(worker);
    const refusedBefore = worker.toRedis.refusedCommits;
    await holdCommit(worker.toRedis);
    const sinceMs = performance.now();
    worker.program.signal("SIGSTOP");
    const refused = (): number => worker.toRedis.refusedCommits - refusedBefore;
    const heal = async (): Promise<void> => {
      await delay(Math.max(0, sinceMs + FREEZE_MS - performance.now()));
      worker.toRedis.become("whole");
      // Redis answers the delayed request while the worker is still frozen, on a busy machine after a while.
      const untilMs = performance.now() + REFUSAL_MS_MAX;
      while (refused() === 0 && performance.now() < untilMs) await delay(HELD_CHECK_MS);
      worker.program.signal("SIGCONT");
    };
    const findings = (): FaultFindings => ({ [REFUSED]: refused() });
    return { whom: worker.name, leaver: worker, partitions, sinceMs, anyAttempt: false, heal, findings };
  },
};

const drainWorker: Fault = {
  name: "stop a worker in peace (SIGTERM)",
  async strike(stage) {
    const worker = aWorker(stage);
    const partitions = await stage.partitionsOf(worker);
    const sinceMs = performance.now();
    let stoppedMs = 0;
    const stopping = worker.program.stop().then(() => {
      stoppedMs = performance.now() - sinceMs;
    });
    const heal = async (): Promise<void> => {
      await stopping;
      await again(worker);
    };
    const findings = (): FaultFindings => ({ "ms until it ended": Math.round(stoppedMs) });
    return { whom: worker.name, leaver: worker, partitions, sinceMs, anyAttempt: true, inPeace: true, heal, findings };
  },
};

const killGateway: Fault = {
  name: "kill -9 a gateway",
  async strike(stage) {
    const index = stage.random.below(stage.gateways.length);
    const gateway = stage.gateways[index] as (typeof stage.gateways)[number];
    const sinceMs = performance.now();
    await gateway.kill();
    const heal = async (): Promise<void> => {
      await gateway.startAgain();
      await gateway.ready();
    };
    return { whom: `gateway ${index + 1}`, partitions: stage.partitions, sinceMs, anyAttempt: true, heal };
  },
};

const restartRedis: Fault = {
  name: "kill -9 Redis and start it again",
  async strike(stage) {
    await stage.redis.kill();
    await stage.redis.startAgain();
    return { whom: "Redis", partitions: stage.partitions, sinceMs: performance.now(), anyAttempt: true, heal: NOTHING };
  },
};

const stopRedis: Fault = {
  name: "Redis off for 10 s",
  async strike(stage, briefly) {
    await stage.redis.kill();
    await delay(briefly ? 4_000 : 10_000);
    await stage.redis.startAgain();
    return { whom: "Redis", partitions: stage.partitions, sinceMs: performance.now(), anyAttempt: true, heal: NOTHING };
  },
};

const freezeRedis: Fault = {
  name: "Redis frozen for 10 s",
  async strike(stage, briefly) {
    stage.redis.freeze();
    await delay(briefly ? 4_000 : 10_000);
    stage.redis.thaw();
    return { whom: "Redis", partitions: stage.partitions, sinceMs: performance.now(), anyAttempt: true, heal: NOTHING };
  },
};

const stopPostgres: Fault = {
  name: "PostgreSQL off for 30 s",
  async strike(stage, briefly) {
    const sinceMs = performance.now();
    await stage.postgres.kill();
    const heal = async (): Promise<void> => {
      await delay(Math.max(0, sinceMs + (briefly ? 4_000 : 30_000) - performance.now()));
      await stage.postgres.startAgain();
    };
    return { whom: "PostgreSQL", partitions: stage.partitions, sinceMs, anyAttempt: true, heal };
  },
};

const stopRegistry: Fault = {
  name: "registry off for 10 s",
  async strike(stage, briefly) {
    const sinceMs = performance.now();
    await stage.registry.kill();
    const heal = async (): Promise<void> => {
      await delay(Math.max(0, sinceMs + (briefly ? 2_000 : 10_000) - performance.now()));
      await stage.registry.startAgain();
      await stage.registry.ready();
    };
    return { whom: "the registry", partitions: stage.partitions, sinceMs, anyAttempt: true, heal };
  },
};

/** Kills the registry and a worker, so that a new leader cannot load services. */
const killInTheDark: Fault = {
  name: "kill -9 a worker while PostgreSQL and the registry are off",
  async strike(stage, briefly) {
    await Promise.all([stage.postgres.kill(), stage.registry.kill()]);
    const struck = await killWorker.strike(stage, briefly);
    const heal = async (): Promise<void> => {
      await stage.postgres.startAgain();
      await stage.registry.startAgain();
      await stage.registry.ready();
      await struck.heal();
    };
    return { ...struck, heal };
  },
};

/** The connection of one worker to Redis. A slow one is not an outage: its leaders stay. */
function cutFromRedis(network: Exclude<NetworkMode, "whole">): Fault {
  return {
    name: `cut a worker from Redis: ${network}`,
    async strike(stage) {
      const worker = aWorker(stage);
      const partitions = await stage.partitionsOf(worker);
      const sinceMs = performance.now();
      worker.toRedis.become(network);
      const heal = async (): Promise<void> => {
        await delay(Math.max(0, sinceMs + FREEZE_MS - performance.now()));
        worker.toRedis.become("whole");
      };
      const isLeading = network === "slow";
      return { whom: worker.name, ...(isLeading ? {} : { leaver: worker }), partitions, sinceMs, anyAttempt: isLeading, heal };
    },
  };
}

/** The connections of other processes to one worker, which keeps leading: callers wait until they reach it again. */
function cutFromPeers(network: Exclude<NetworkMode, "whole">): Fault {
  return {
    name: `cut a worker from its peers: ${network}`,
    async strike(stage, briefly) {
      const worker = aWorker(stage);
      worker.grpcProxy.become(network);
      await delay(briefly ? FREEZE_MS : 2 * FREEZE_MS);
      worker.grpcProxy.become("whole");
      return { whom: worker.name, partitions: stage.partitions, sinceMs: performance.now(), anyAttempt: true, heal: NOTHING };
    },
  };
}

const NETWORKS = ["refused", "silent", "mute", "deaf", "halfOpen", "slow"] as const;

export const FAULTS: readonly Fault[] = [
  killWorker,
  freezeWorker,
  drainWorker,
  killGateway,
  restartRedis,
  stopRedis,
  freezeRedis,
  stopPostgres,
  stopRegistry,
  killInTheDark,
  ...NETWORKS.map(cutFromRedis),
  ...NETWORKS.map(cutFromPeers),
];

function aWorker(stage: ChaosStage): StagedWorker {
  return stage.random.pick(stage.workers);
}

async function again({ program }: StagedWorker): Promise<void> {
  await program.startAgain();
  await program.ready();
}
