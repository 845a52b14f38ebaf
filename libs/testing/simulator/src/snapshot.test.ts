import { expect, test } from "@jest/globals";
import { type InvocationId, invocationIdFromRaw, utf8 } from "@perdure/base";
import {
  brokenInvariants,
  type Invocation,
  type Mutation,
  type PartitionSnapshot,
  queueOfLock,
  type TimerKey,
} from "@perdure/state-machine";
import { KvPartitionStore } from "@perdure/storage";
import { MirroredKeyValue } from "@perdure/storage/testing/mirrored-key-value";
import { SeededRandom } from "@perdure/testkit";
import { snapshotOf } from "./snapshot.js";

const IDS = Array.from({ length: 4 }, (_, n) => invocationIdFromRaw(new Uint8Array(24).fill(n + 1)));
const ROUNDS = 400;

function invocation(random: SeededRandom, id: InvocationId): Invocation {
  const target = {
    scope: undefined,
    service: "O",
    key: "k",
    handler: "h",
    serviceType: "virtualObject",
    handlerType: "exclusive",
  } as const;
  const facts = {
    id,
    target,
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    limitKey: undefined,
    priority: 3,
    requestId: 1,
    createdAtMs: 5,
    executionTimeMs: undefined,
    completionRetentionMs: 1,
    journalRetentionMs: 1,
    randomSeed: undefined,
    trace: undefined,
    bytes: undefined,
  } as const;
  const length = 1 + random.below(4);
  const common = {
    facts,
    modifiedAtMs: random.below(100),
    run: 1,
    pinned: undefined,
    journal: { length, commands: 1, notifications: length - 1, outputIndex: -1, hasEvents: false },
    sinks: [],
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: 7, completedAtMs: undefined, moves: undefined },
  };
  // No id has a row of both kinds.
  if (IDS.indexOf(id) % 2 === 1) return { status: "completed", ...common, outcome: { kind: "success", value: utf8("done") } };
  return { status: "invoked", ...common, pauseRequested: false };
}

function mutation(random: SeededRandom): Mutation {
  const id = random.pick(IDS);
  const index = random.below(5);
  const object = { service: "O", key: random.pick(["k", "ä", ""]) };
  const timer: TimerKey = {
    dueAtMs: random.below(3),
    kind: random.pick(["sleep", "start", "purge", "purgeJournal"]),
    id,
    sequence: index,
  };
  const queue = queueOfLock(object.service, object.key);
  return random.pick<() => Mutation>([
    () => ({ kind: "putInvocation", invocation: invocation(random, id) }),
    () => ({ kind: "deleteInvocation", id }),
    () => ({ kind: "appendEntry", id, index, entry: { type: 0x0400, body: utf8(`${random.below(9)}`), appendedAtMs: 1 } }),
    () => ({ kind: "deleteJournal", id, length: index }),
    () => ({ kind: "putState", ...object, stateKey: "s", value: utf8("v") }),
    () => ({ kind: "putLock", ...object, lock: { holder: id, head: 0, tail: index } }),
    () => ({ kind: "deleteLock", ...object }),
    () => ({ kind: "putInbox", ...object, seq: index, entry: { kind: "invocation", id } }),
    () => ({ kind: "deleteInbox", ...object, seq: index }),
    () => ({
      kind: "putPromise",
      ...object,
      name: "p",
      promise: { kind: "pending", listeners: [{ id, generation: 1, completionId: index }] },
    }),
    () => ({ kind: "deletePromise", ...object, name: "p" }),
    () => ({ kind: "putTimer", timer }),
    () => ({ kind: "deleteTimer", timer }),
    () => ({ kind: "putOutbox", message: { seq: index, command: { kind: "kill", id } } }),
    () => ({ kind: "deleteOutbox", seq: index }),
    () => ({ kind: "putPause", queue, pause: { pausedAtMs: index, lock: object } }),
    () => ({ kind: "deletePause", queue }),
  ])();
}

/** Sorts rows, and cuts journals to the length of their invocation and one row more. */
function sorted({ invocations, journals, changedIds: _, ...tables }: PartitionSnapshot): unknown {
  const texts = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
  return {
    invocations: texts(invocations),
    journals: texts(
      invocations.map(({ facts, journal }) => {
        const rows = (journals.get(facts.id) ?? []).slice(0, journal.length + 1);
        return [facts.id, Array.from({ length: journal.length + 1 }, (_, index) => rows[index] ?? null)];
      }),
    ),
    ...Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, texts(rows as readonly unknown[])])),
  };
}

test("rows that are decoded as they change are the rows that the store reads", async () => {
  const random = new SeededRandom(1);
  const kv = new MirroredKeyValue();
  const store = new KvPartitionStore(kv);
  let checked = 0;
  const brokenBefore = [new Set<string>(), new Set<string>()];
  const epochs = [await store.claim(0), await store.claim(1)];
  for (let round = 0; round < ROUNDS; round++) {
    const partition = random.below(2);
    const mutations = Array.from({ length: 1 + random.below(4) }, () => mutation(random));
    await store.commit([{ partition, epoch: epochs[partition] as number, mutations }]);
    if (random.chance(0.5)) continue; // Several batches between two checks.
    const changed = kv.changed(partition);
    if (changed === undefined) continue; // A journal of no entries was deleted.
    checked++;
    const stored = await snapshotOf(store, partition);
    expect(sorted(changed)).toEqual(sorted(stored));
    // What the rows that changed break is found, although the rows of invocations at rest are not checked again.
    const broken = brokenInvariants(stored);
    const before = brokenBefore[partition] as Set<string>;
    expect(brokenInvariants(changed)).toEqual(expect.arrayContaining(broken.filter((text) => !before.has(text))));
    brokenBefore[partition] = new Set(broken);
    expect(kv.changed(partition)).toBeUndefined();
  }
  expect(checked).toBeGreaterThan(ROUNDS / 3);
});
