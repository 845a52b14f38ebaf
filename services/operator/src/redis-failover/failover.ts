/**
 * Promotes a replica of three Redis when the primary is lost, and makes the lost one a replica when it comes back. An environment whose
 * Redis are all ready costs no connection; after a promotion they are checked once a minute, because a primary that was only cut off does
 * not report that it is back.
 */
import { type Clock, type Logger, Secret } from "@perdure/base";
import { type EnvironmentResource, type Observation, secondsOf } from "@perdure/custom-resources";
import type { EventRecorder, KubernetesClient } from "@perdure/kubernetes";
import { type RedisNode, readReplication, setPrimary } from "@perdure/redis";
import type { Cell } from "../cell.js";
import { PORTS } from "../desired/network-policies.js";
import { isReplicated, replicatedHosts } from "../desired/redis.js";
import { FAILOVER_CHECK_MS, FAILOVER_STEPS_MAX, PROMOTED_CHECK_MS } from "../limits.js";
import type { OperatorMetrics } from "../metrics.js";
import type { Workload } from "../observed-objects.js";
import { decideFailover, type FailoverDecision, FENCE, isFollowed } from "./decision.js";
import { type PrimaryRecord, podOf, readPrimary, writePrimary } from "./record.js";

interface RedisFailoverPorts {
  readonly client: Pick<KubernetesClient, "find" | "apply" | "create">;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventRecorder, "record">;
  readonly metrics: Pick<OperatorMetrics, "redisPromotions">;
  /** Addresses of the three; those of the pods outside tests. */
  readonly nodesOf?: (environment: EnvironmentResource) => readonly RedisNode[];
}

export interface FailoverResult {
  readonly record: PrimaryRecord;
  readonly problems: readonly Observation[];
  /** Milliseconds until the next check; undefined: changes of the pods cause it. */
  readonly againMs: number | undefined;
}

/** What was found at the last check of an environment. */
interface FailoverCheck {
  readonly atMs: number;
  /** Monotonic time since which the primary has not answered. */
  readonly silentSinceMs: number | undefined;
  readonly decision: FailoverDecision;
}

export class RedisFailover {
  readonly #ports: RedisFailoverPorts;
  readonly #checks = new Map<string, FailoverCheck>();

  constructor(ports: RedisFailoverPorts) {
    this.#ports = ports;
  }

  /**
   * `set`: the StatefulSet of Redis. Undefined when there are not three. Rejects with the API server's error, and with STO0001 when a Redis
   * does not confirm a change; the next pass continues from what the servers report.
   */
  async run(
    environment: EnvironmentResource,
    set: Workload | undefined,
    redisUrl: Secret,
    signal: AbortSignal,
  ): Promise<FailoverResult | undefined> {
    if (!isReplicated(environment)) return undefined;
    const { client, clock } = this.#ports;
    const name = environment.metadata.name;
    const before = await readPrimary(environment, client, signal);
    const dueInMs = this.#dueInMs(environment, set, before);
    if (dueInMs === undefined) return this.#resultOf(before, undefined, undefined);
    if (dueInMs > 0) return this.#resultOf(before, this.#checks.get(name)?.decision, dueInMs);
    const { decision, record } = await this.#advance(environment, redisUrl, signal);
    const isPromoted = record.promotions > 0;
    const againMs = decision.kind !== "settled" ? FAILOVER_CHECK_MS : isPromoted ? PROMOTED_CHECK_MS : undefined;
    this.#checks.set(name, { silentSinceMs: undefined, ...this.#checks.get(name), atMs: clock.monotonicMs(), decision });
    return this.#resultOf(record, decision, againMs);
  }

  discard(environment: string): void {
    this.#checks.delete(environment);
  }

  /** Undefined: nothing suggests a check. */
  #dueInMs(environment: EnvironmentResource, set: Workload | undefined, record: PrimaryRecord): number | undefined {
    const { replicas = 0, readyReplicas = 0 } = set?.status ?? {};
    const isNew = environment.status?.data?.present !== true && record.promotions === 0;
    if (environment.spec.suspended || replicas === 0 || isNew) return undefined;
    const last = this.#checks.get(environment.metadata.name);
    const isWhole = readyReplicas >= replicas;
    if (isWhole && record.promotions === 0 && (last === undefined || last.decision.kind === "settled")) return undefined;
    if (last === undefined) return 0;
    const pauseMs = isWhole && last.decision.kind === "settled" ? PROMOTED_CHECK_MS : FAILOVER_CHECK_MS;
    return Math.max(0, last.atMs + pauseMs - this.#ports.clock.monotonicMs());
  }

  /** Takes steps until a decision has nothing to do. */
  async #advance(
    environment: EnvironmentResource,
    redisUrl: Secret,
    signal: AbortSignal,
  ): Promise<{ readonly decision: FailoverDecision; readonly record: PrimaryRecord }> {
    const password = passwordOf(redisUrl);
    const nodes = this.#nodesOf(environment);
    for (let step = 1; ; step++) {
      const record = await readPrimary(environment, this.#ports.client, signal);
      const servers = await Promise.all(nodes.map((node) => readReplication({ node, password })));
      const facts = {
        primary: record.ordinal,
        promotions: record.promotions,
        servers,
        addresses: nodes.map(({ host, port }) => `${host}:${port}`),
        silentMs: 0,
        afterMs: afterMsOf(environment),
      };
      const isSilent = servers[record.ordinal]?.kind === "silent" && !isFollowed(facts);
      const decision = decideFailover({ ...facts, silentMs: this.#silentMs(environment, isSilent) });
      // A process that no longer leads must not change a Redis.
      signal.throwIfAborted();
      if (step === FAILOVER_STEPS_MAX) return { decision, record };
      const point = (ordinal: number, primary: RedisNode | undefined): Promise<void> =>
        setPrimary({ node: nodeAt(nodes, ordinal), password }, primary);
      switch (decision.kind) {
        case "settled":
        case "waiting":
          return { decision, record };
        case "refused":
          await this.#reportRefusal(environment, decision);
          return { decision, record };
        case "fence":
          await Promise.all(decision.ordinals.map((ordinal) => point(ordinal, FENCE)));
          break;
        case "follow":
          await Promise.all(decision.ordinals.map((ordinal) => point(ordinal, nodeAt(nodes, record.ordinal))));
          break;
        case "promote":
          await this.#promote(environment, record, decision.ordinal, signal);
          break;
        case "lead":
          await point(record.ordinal, undefined);
          break;
      }
    }
  }

  /** Time for which the primary has not answered; a check that it answers begins it anew. */
  #silentMs({ metadata: { name } }: EnvironmentResource, isSilent: boolean): number {
    const nowMs = this.#ports.clock.monotonicMs();
    const last = this.#checks.get(name);
    const silentSinceMs = isSilent ? (last?.silentSinceMs ?? nowMs) : undefined;
    this.#checks.set(name, { atMs: nowMs, decision: { kind: "waiting" }, ...last, silentSinceMs });
    return silentSinceMs === undefined ? 0 : nowMs - silentSinceMs;
  }

  /** Writes the record first: from then on a lost primary that starts again is a replica. */
  async #promote(environment: EnvironmentResource, before: PrimaryRecord, ordinal: number, signal: AbortSignal): Promise<void> {
    const { client, clock, events, logger, metrics } = this.#ports;
    const since = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
    const record = { ordinal, promotions: before.promotions + 1, since, version: before.version };
    await writePrimary(environment, record, client, signal);
    this.#checks.delete(environment.metadata.name);
    metrics.redisPromotions.inc("promoted");
    logger.warn(
      { environment: environment.metadata.name, primary: podOf(record), lost: podOf(before), promotions: record.promotions },
      "the primary of Redis is lost; a replica is promoted",
    );
    const note = `${podOf(before)} is lost, and ${podOf(record)} has received everything that was acknowledged: it is the primary now`;
    await events.record(environment, { type: "Warning", reason: "RedisPromoted", action: "Promote", note });
  }

  async #reportRefusal(
    environment: EnvironmentResource,
    { reason, message }: Extract<FailoverDecision, { readonly kind: "refused" }>,
  ): Promise<void> {
    const { events, logger, metrics } = this.#ports;
    const { name } = environment.metadata;
    const last = this.#checks.get(name)?.decision;
    if (last?.kind === "refused" && last.reason === reason) return;
    metrics.redisPromotions.inc("refused");
    logger.warn({ environment: name, reason, message }, "no replica of Redis is promoted");
    const note = `no Redis is promoted: ${message}`;
    await events.record(environment, { type: "Warning", reason: "RedisPromotionRefused", action: "Promote", note });
  }

  #resultOf(record: PrimaryRecord, decision: FailoverDecision | undefined, againMs: number | undefined): FailoverResult {
    const refused: readonly Observation[] =
      decision?.kind === "refused"
        ? [{ type: "RedisPromotionRefused", status: "True", reason: decision.reason, message: decision.message }]
        : [];
    const promoted: readonly Observation[] =
      record.promotions === 0
        ? []
        : [
            {
              type: "RedisPromoted",
              status: "True",
              reason: decision === undefined || decision.kind === "settled" ? "Complete" : "CopiesMissing",
              message: `${podOf(record)} is the primary since ${record.since}, by promotion ${record.promotions}`,
            },
          ];
    return { record, problems: [...refused, ...promoted], againMs };
  }

  #nodesOf(environment: EnvironmentResource): readonly RedisNode[] {
    const { cell, nodesOf } = this.#ports;
    if (nodesOf !== undefined) return nodesOf(environment);
    return replicatedHosts(environment, cell).map((host) => ({ host, port: PORTS.redis }));
  }
}

const NEVER = "never";
const AFTER = "60s";

/** Undefined: never. */
function afterMsOf({ spec }: EnvironmentResource): number | undefined {
  const after = spec.redis.bundled?.failover?.after ?? AFTER;
  return after === NEVER ? undefined : secondsOf(after) * 1_000;
}

function passwordOf(url: Secret): Secret | undefined {
  if (!URL.canParse(url.reveal())) return undefined;
  const { password } = new URL(url.reveal());
  return password === "" ? undefined : new Secret(decodeURIComponent(password));
}

function nodeAt(nodes: readonly RedisNode[], ordinal: number): RedisNode {
  const node = nodes[ordinal];
  if (node === undefined) throw new RangeError(`there is no Redis ${ordinal}`);
  return node;
}
