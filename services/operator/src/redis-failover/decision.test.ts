import { describe, expect, test } from "@jest/globals";
import type { RedisReplication, RedisRole } from "@perdure/redis";
import { decideFailover, type FailoverFacts, FENCE } from "./decision.js";

const ADDRESSES = ["redis-0:6379", "redis-1:6379", "redis-2:6379"];
const SILENT: RedisReplication = { kind: "silent", reason: "timeout" };

const role = (changes: Partial<RedisRole>): RedisRole => ({
  kind: "answers",
  role: "replica",
  history: "a",
  offset: 100,
  replicaCount: 0,
  primary: "redis-0:6379",
  isLinkUp: false,
  linkDownSeconds: 90,
  isSyncing: false,
  ...changes,
});
const primary = (changes: Partial<RedisRole> = {}): RedisRole =>
  role({ role: "primary", primary: "", linkDownSeconds: undefined, replicaCount: 2, ...changes });
const following = (of: string, changes: Partial<RedisRole> = {}): RedisRole =>
  role({ primary: of, isLinkUp: true, linkDownSeconds: undefined, ...changes });
const fenced = (changes: Partial<RedisRole> = {}): RedisRole => role({ primary: `${FENCE.host}:${FENCE.port}`, ...changes });

const decide = (servers: readonly RedisReplication[], changes: Partial<FailoverFacts> = {}) =>
  decideFailover({ primary: 0, promotions: 0, addresses: ADDRESSES, silentMs: 0, afterMs: 60_000, servers, ...changes });

describe("while the primary does not answer", () => {
  test("both replicas are fenced after the time, by their own measure or the operator's", () => {
    expect(decide([SILENT, role({}), role({})])).toEqual({ kind: "fence", ordinals: [1, 2] });
    const unknown = [SILENT, role({ linkDownSeconds: undefined }), role({})];
    expect(decide(unknown)).toEqual({ kind: "waiting" });
    expect(decide(unknown, { silentMs: 60_000 })).toEqual({ kind: "fence", ordinals: [1, 2] });
    expect(decide([SILENT, role({ linkDownSeconds: 59 }), role({})])).toEqual({ kind: "waiting" });
    expect(decide(unknown, { silentMs: 600_000, afterMs: undefined })).toEqual({ kind: "waiting" });
  });

  test("a primary that a replica is connected to is not lost", () => {
    expect(decide([SILENT, following("redis-0:6379"), role({})], { silentMs: 600_000 })).toEqual({ kind: "waiting" });
  });

  test("a promotion that has begun is completed at once, with the replica that has received more", () => {
    expect(decide([SILENT, fenced(), role({ linkDownSeconds: 1 })], { silentMs: 60_000 })).toEqual({
      kind: "fence",
      ordinals: [2],
    });
    expect(decide([SILENT, fenced({ offset: 7 }), fenced({ offset: 8 })])).toEqual({ kind: "promote", ordinal: 2 });
    expect(decide([SILENT, fenced({ offset: 8 }), fenced({ offset: 8 })])).toEqual({ kind: "promote", ordinal: 1 });
    // The second time it is another one's turn.
    const later = { primary: 1, promotions: 1 };
    expect(decide([fenced({ offset: 9 }), SILENT, fenced({ offset: 8 })], later)).toEqual({ kind: "promote", ordinal: 0 });
  });

  test.each([
    ["ReplicaUnreachable", SILENT],
    ["ReplicaSyncing", { kind: "loading" }],
    ["ReplicaSyncing", role({ isSyncing: true })],
    ["HistoriesDiffer", role({ history: "b" })],
    ["HistoriesDiffer", role({ offset: 1 })],
    ["OtherPrimary", primary()],
  ] as const)("it is refused with %s, before anything is changed and after a replica was fenced", (reason, other) => {
    for (const one of [role({}), fenced()]) {
      expect(decide([SILENT, one, other], { silentMs: 60_000 })).toMatchObject({ kind: "refused", reason });
      expect(decide([SILENT, other, one], { silentMs: 60_000 })).toMatchObject({ kind: "refused", reason });
    }
  });
});

describe("while the primary answers", () => {
  test("nothing is done for one that loads its log or copies what it lost", () => {
    expect(decide([{ kind: "loading" }, role({}), role({})])).toEqual({ kind: "waiting" });
    expect(decide([following("redis-1:6379"), primary(), role({})])).toEqual({ kind: "waiting" });
  });

  test("everything is settled when both follow it", () => {
    const first = following("redis-0:6379");
    expect(decide([primary(), first, first])).toEqual({ kind: "settled" });
    expect(decide([primary(), first, SILENT])).toEqual({ kind: "waiting" });
    expect(decide([primary(), first, role({})])).toEqual({ kind: "waiting" });
  });

  test("before the first promotion only what was fenced is led back", () => {
    expect(decide([primary(), fenced(), primary({ replicaCount: 0 })])).toEqual({ kind: "follow", ordinals: [1] });
  });

  test("a promoted one that was recorded and is still fenced becomes the primary, and all others follow it", () => {
    const promoted = { primary: 1, promotions: 1 };
    expect(decide([SILENT, fenced(), fenced()], promoted)).toEqual({ kind: "lead" });
    expect(decide([primary({ replicaCount: 0 }), primary(), fenced()], promoted)).toEqual({ kind: "follow", ordinals: [0, 2] });
    expect(decide([role({}), primary(), following("redis-1:6379")], promoted)).toEqual({ kind: "follow", ordinals: [0] });
  });

  test("another primary that has replicas may have acknowledged something: its data are not thrown away", () => {
    const decision = decide([primary({ replicaCount: 1 }), primary(), following("redis-0:6379")], { primary: 1, promotions: 1 });
    expect(decision).toMatchObject({ kind: "refused", reason: "OtherPrimary" });
  });
});
