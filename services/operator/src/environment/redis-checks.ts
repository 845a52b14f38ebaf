/**
 * Checks an external Redis, about which Kubernetes reports nothing. The check needs a connection, so its result is cached: an environment
 * is reconciled more often than that.
 */
import { type Clock, type Logger, Secret } from "@perdure/base";
import type { Observation } from "@perdure/custom-resources";
import { probeRedis, type RedisConnectionOptions, type RedisProbe } from "@perdure/redis";
import { hashOf } from "../desired/runtime-config.js";
import { REDIS_CHECK_MS, REDIS_RECHECK_MS } from "../limits.js";
import { bad, good, type StepOutcome } from "./outcome.js";

type Prober = (options: RedisConnectionOptions, logger: Logger) => Promise<RedisProbe>;

interface RedisChecksPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `probeRedis` outside tests. */
  readonly probe?: Prober;
}

interface CachedCheck {
  /** Hash of the URL: another URL is checked at once. */
  readonly hash: string;
  readonly atMs: number;
  readonly result: RedisCheckResult;
}

interface RedisCheckResult {
  readonly storage: StepOutcome;
  /** Data that Redis may lose; undefined when no problem was found. */
  readonly durability: Observation | undefined;
}

export class RedisChecks {
  readonly #ports: RedisChecksPorts;
  /** Checks by the name of the environment; entries of deleted environments are removed. */
  readonly #cached = new Map<string, CachedCheck>();

  constructor(ports: RedisChecksPorts) {
    this.#ports = ports;
  }

  /** Never rejects. */
  async check(environment: string, url: Secret): Promise<RedisCheckResult> {
    const { clock, logger, probe = probeRedis } = this.#ports;
    const hash = hashOf(url.reveal());
    const before = this.#cached.get(environment);
    const isGoodFor = before?.result.storage.observation.status === "True" ? REDIS_CHECK_MS : REDIS_RECHECK_MS;
    if (before?.hash === hash && clock.monotonicMs() - before.atMs < isGoodFor) return before.result;
    const options = optionsOf(url);
    const result = options === undefined ? UNUSABLE : resultOf(await probe(options, logger));
    this.#cached.set(environment, { hash, atMs: clock.monotonicMs(), result });
    return result;
  }

  discard(environment: string): void {
    this.#cached.delete(environment);
  }
}

const TYPE = "StorageReady";
const UNUSABLE: RedisCheckResult = {
  storage: bad(TYPE, "InvalidReference", "the Secret holds no URL like redis://user:password@host:6379", REDIS_CHECK_MS),
  durability: undefined,
};

function resultOf(probe: RedisProbe): RedisCheckResult {
  const problem = (reason: string, message: string): RedisCheckResult => ({
    storage: bad(TYPE, reason, message, REDIS_RECHECK_MS),
    durability: undefined,
  });
  switch (probe.kind) {
    case "answers": {
      const storage = { ...good(TYPE, "External", "Redis is external and responds"), againMs: REDIS_CHECK_MS };
      return { storage, durability: probe.isDurable === false ? FORGETFUL : undefined };
    }
    case "evicts":
      return problem("RedisEvicts", `Redis throws data away when it is full (${probe.policy}); it must be noeviction`);
    case "refused":
      return problem("AuthFailed", `Redis does not let us in: ${probe.reason}`);
    case "silent":
      return problem("RedisUnreachable", probe.reason);
  }
}

const FORGETFUL: Observation = {
  type: "DurabilityReduced",
  status: "True",
  reason: "NoAppendOnlyFile",
  message: "Redis keeps no append-only file: what it acknowledged is lost when it ends",
};

/** Undefined for what is not a URL of a Redis. */
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
