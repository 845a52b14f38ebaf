/**
 * Why: a Redis that somebody else runs says nothing to Kubernetes, so whether it can be used is asked of it, now and then: a look is a
 * connection, and an environment is looked at more often than that.
 */
import { type Clock, type Logger, Secret } from "@perdure/base";
import type { Observation } from "@perdure/custom-resources";
import { probeRedis, type RedisConnectionOptions, type RedisProbe } from "@perdure/driver-redis";
import { hashOf } from "../desired/runtime-config.js";
import { REDIS_LOOK_MS, REDIS_LOOK_TROUBLE_MS } from "../limits.js";
import { bad, good, type Outcome } from "./outcome.js";

export type Prober = (options: RedisConnectionOptions, logger: Logger) => Promise<RedisProbe>;

interface RedisLooksPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `probeRedis` unless a test says otherwise. */
  readonly probe?: Prober;
}

interface Looked {
  /** Of the URL: another one is looked at anew. */
  readonly hash: string;
  readonly atMs: number;
  readonly seen: RedisSeen;
}

export interface RedisSeen {
  readonly storage: Outcome;
  /** What it may lose; undefined when nothing is known to be wrong. */
  readonly durability: Observation | undefined;
}

export class RedisLooks {
  readonly #ports: RedisLooksPorts;
  /** By the name of the environment; those that are gone are forgotten. */
  readonly #looked = new Map<string, Looked>();

  constructor(ports: RedisLooksPorts) {
    this.#ports = ports;
  }

  /** Never rejects. */
  async look(environment: string, url: Secret): Promise<RedisSeen> {
    const { clock, logger, probe = probeRedis } = this.#ports;
    const hash = hashOf(url.reveal());
    const before = this.#looked.get(environment);
    const isGoodFor = before?.seen.storage.observation.status === "True" ? REDIS_LOOK_MS : REDIS_LOOK_TROUBLE_MS;
    if (before?.hash === hash && clock.monotonicMs() - before.atMs < isGoodFor) return before.seen;
    const options = optionsOf(url);
    const seen = options === undefined ? UNUSABLE : seenOf(await probe(options, logger));
    this.#looked.set(environment, { hash, atMs: clock.monotonicMs(), seen });
    return seen;
  }

  forget(environment: string): void {
    this.#looked.delete(environment);
  }
}

const TYPE = "StorageReady";
const UNUSABLE: RedisSeen = {
  storage: bad(TYPE, "InvalidReference", "the Secret holds no URL like redis://user:password@host:6379", REDIS_LOOK_MS),
  durability: undefined,
};

function seenOf(probe: RedisProbe): RedisSeen {
  const trouble = (reason: string, message: string): RedisSeen => ({
    storage: bad(TYPE, reason, message, REDIS_LOOK_TROUBLE_MS),
    durability: undefined,
  });
  switch (probe.kind) {
    case "answers": {
      const storage = { ...good(TYPE, "External", "Redis is not ours to run, and answers"), againMs: REDIS_LOOK_MS };
      return { storage, durability: probe.isDurable === false ? FORGETFUL : undefined };
    }
    case "evicts":
      return trouble("RedisEvicts", `Redis throws data away when it is full (${probe.policy}); it must be noeviction`);
    case "refused":
      return trouble("AuthFailed", `Redis does not let us in: ${probe.reason}`);
    case "silent":
      return trouble("RedisUnreachable", probe.reason);
  }
}

const FORGETFUL: Observation = {
  type: "DurabilityReduced",
  status: "True",
  reason: "NoAppendOnlyFile",
  message: "Redis keeps no append-only file: what it acknowledged is lost when it ends",
};

/** Undefined for what is no URL of a Redis. */
function optionsOf(url: Secret): RedisConnectionOptions | undefined {
  if (!URL.canParse(url.reveal())) return undefined;
  const { protocol, hostname, port, username, password } = new URL(url.reveal());
  if (!/^rediss?:$/.test(protocol) || hostname === "") return undefined;
  return {
    nodes: [{ host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 6379 : Number(port) }],
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: new Secret(decodeURIComponent(password)) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
    name: "perdure-operator",
  };
}
