/**
 * Decides what to do about the primary of three Redis. Pure.
 *
 * Nothing acknowledged is lost, because a commit counts only when one of the two replicas has received it. Both replicas are disconnected
 * from the primary first (fenced), and from then on a primary that still runs somewhere acknowledges nothing. Whatever it acknowledged
 * before is on one of the two, so the one that has received more of the same history has all of it. When one of the two cannot be read, or
 * has another history, that comparison is impossible, and nothing is promoted.
 *
 * Each decision depends only on the record and on what the servers report, so an operator that ends at any point is continued by the next.
 */
import { present } from "@perdure/base";
import type { RedisReplication, RedisRole } from "@perdure/redis";

/** Address that a fenced replica follows: nothing listens there. A replica that is promoted instead would begin another history. */
export const FENCE = { host: "127.0.0.1", port: 1 } as const;
const FENCED = `${FENCE.host}:${FENCE.port}`;
/** A replica that has received this much does not know how much it has: it was started anew and has not copied anything since. */
const UNKNOWN_OFFSET = 1;

export interface FailoverFacts {
  /** Ordinal of the recorded primary, and how often one was promoted. */
  readonly primary: number;
  readonly promotions: number;
  /** What each server reports, and the address by which others follow it. */
  readonly servers: readonly RedisReplication[];
  readonly addresses: readonly string[];
  /** Milliseconds for which the primary has not answered. */
  readonly silentMs: number;
  /** Milliseconds after which a replica is promoted; undefined: never. */
  readonly afterMs: number | undefined;
}

type RefusedPromotion =
  /** A replica does not answer: what was acknowledged may be on that one only. */
  | "ReplicaUnreachable"
  /** A replica copies all data anew, or has not begun to. */
  | "ReplicaSyncing"
  /** One was started anew since the loss: how much each has received cannot be compared. */
  | "HistoriesDiffer"
  /** Another one is a primary already, which this operator has not promoted. */
  | "OtherPrimary";

export type FailoverDecision =
  | { readonly kind: "settled" }
  /** Nothing to do yet. */
  | { readonly kind: "waiting" }
  /** Make these replicas of the recorded primary. */
  | { readonly kind: "follow"; readonly ordinals: readonly number[] }
  /** The recorded primary was fenced when it was chosen: complete its promotion. */
  | { readonly kind: "lead" }
  | { readonly kind: "fence"; readonly ordinals: readonly number[] }
  /** Record this one as the primary. */
  | { readonly kind: "promote"; readonly ordinal: number }
  | { readonly kind: "refused"; readonly reason: RefusedPromotion; readonly message: string };

const WAITING: FailoverDecision = { kind: "waiting" };

export function decideFailover(facts: FailoverFacts): FailoverDecision {
  const primary = present(facts.servers[facts.primary]);
  switch (primary.kind) {
    case "answers":
      return withPrimary(primary, facts);
    case "loading":
      return WAITING;
    case "silent":
      return withoutPrimary(facts);
  }
}

/** Whether a replica is connected to the recorded primary, which then is not lost, even when the operator does not reach it. */
export function isFollowed({ primary, servers, addresses }: FailoverFacts): boolean {
  return servers.some((one) => isReplica(one) && one.isLinkUp && one.primary === addresses[primary]);
}

const podOf = (ordinal: number): string => `redis-${ordinal}`;
const isReplica = (one: RedisReplication): one is RedisRole => one.kind === "answers" && one.role === "replica";
const isFenced = (one: RedisReplication): boolean => isReplica(one) && one.primary === FENCED;

/** The servers besides the recorded primary, with their ordinals. */
const othersOf = ({ servers, primary }: FailoverFacts): readonly (readonly [number, RedisReplication])[] =>
  servers.map((server, ordinal) => [ordinal, server] as const).filter(([ordinal]) => ordinal !== primary);

function withPrimary(primary: RedisRole, facts: FailoverFacts): FailoverDecision {
  const { promotions, addresses } = facts;
  const address = addresses[facts.primary];
  if (primary.role === "replica") {
    // A primary that lost its volume is a replica of another one until it has copied everything; that one is not fenced.
    return promotions > 0 && isFenced(primary) ? { kind: "lead" } : WAITING;
  }
  const strays = othersOf(facts).filter(([, one]) => {
    if (one.kind !== "answers" || one.primary === address) return false;
    // Before the first promotion only what this operator fenced is led back: the start script and operators by hand have reasons of their own.
    return isFenced(one) || promotions > 0;
  });
  const rival = strays.find(([, one]) => one.kind === "answers" && one.role === "primary" && one.replicaCount > 0);
  if (rival !== undefined) return refuse("OtherPrimary", `${podOf(rival[0])} is a primary, too, and has replicas of its own`);
  if (strays.length > 0) return { kind: "follow", ordinals: strays.map(([ordinal]) => ordinal) };
  return othersOf(facts).every(([, one]) => isReplica(one) && one.isLinkUp) ? { kind: "settled" } : WAITING;
}

function withoutPrimary(facts: FailoverFacts): FailoverDecision {
  const { afterMs, silentMs } = facts;
  const others = othersOf(facts);
  const toFence = others.filter(([, one]) => !isFenced(one)).map(([ordinal]) => ordinal);
  if (afterMs === undefined || isFollowed(facts)) return WAITING;
  // A promotion that has begun is completed.
  if (toFence.length > 0 && Math.max(silentMs, linkDownMs(others)) < afterMs) return WAITING;
  const refusal = refusalOf(others);
  if (refusal !== undefined) return refusal;
  if (toFence.length > 0) return { kind: "fence", ordinals: toFence };
  const offsetOf = (one: RedisReplication): number => (one.kind === "answers" ? one.offset : 0);
  const [ordinal] = others.reduce((best, one) => (offsetOf(one[1]) > offsetOf(best[1]) ? one : best));
  return { kind: "promote", ordinal };
}

/** Time for which none of the others was connected to a primary; 0 when one of them does not know. */
function linkDownMs(others: readonly (readonly [number, RedisReplication])[]): number {
  const seconds = others.map(([, one]) => (one.kind === "answers" ? (one.linkDownSeconds ?? 0) : 0));
  return Math.min(...seconds) * 1_000;
}

function refusalOf(others: readonly (readonly [number, RedisReplication])[]): FailoverDecision | undefined {
  for (const [ordinal, one] of others) {
    const pod = podOf(ordinal);
    if (one.kind === "silent")
      return refuse(
        "ReplicaUnreachable",
        `${pod} does not answer (${one.reason}), and it may be the only one that has the last commits`,
      );
    if (one.kind === "loading") return refuse("ReplicaSyncing", `${pod} loads its data`);
    if (one.role === "primary") return refuse("OtherPrimary", `${pod} is a primary, which this operator has not promoted`);
    if (one.isSyncing) return refuse("ReplicaSyncing", `${pod} copies all data anew and has not finished`);
    if (one.offset <= UNKNOWN_OFFSET)
      return refuse("HistoriesDiffer", `${pod} was started anew and does not know how much it has received`);
  }
  const histories = new Set(others.map(([, one]) => (one.kind === "answers" ? one.history : "")));
  if (histories.size === 1) return undefined;
  const pods = others.map(([ordinal]) => podOf(ordinal)).join(" and ");
  return refuse("HistoriesDiffer", `${pods} have different histories: one of them was started anew since the primary was lost`);
}

const refuse = (reason: RefusedPromotion, message: string): FailoverDecision => ({ kind: "refused", reason, message });
