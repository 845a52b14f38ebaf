/**
 * Recorded `testdata/rows.v1.json` and `testdata/partition.v1.json`, once, from the last commit before version 0.1.0 (ba929c1):
 *
 *     node deploy/run-ts.mjs libs/ports/storage/test/recorder/record-rows.ts libs/ports/storage/testdata
 *
 * Never run it again over those files: they stand for what released versions have stored. A new version of the stored forms gets files
 * of its own.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { VqueueId } from "@perdure/base";
import type { Mutation, TimerKey } from "@perdure/state-machine";
import { anId } from "@perdure/state-machine/testing";
import fc from "fast-check";
import { KvPartitionStore, MemoryKeyValue } from "../../src/index.js";
import { arbitraryInvocation } from "../../src/testing/arbitraries.js";
import { partitionReads } from "../partition-reads.js";
import { recordedJson, toBase64 } from "../recorded-json.js";
import {
  arbitraryEntry,
  arbitraryEvent,
  arbitraryInbox,
  arbitraryLock,
  arbitraryOutboxCommand,
  arbitraryPacked,
  arbitraryPause,
  arbitraryPromise,
  arbitrarySafe,
} from "../row-arbitraries.js";
import { ROW_CODECS } from "../row-codecs.js";

const [directory = "."] = process.argv.slice(2);

/** Draws the same values at every run. */
const samples = <T>(arbitrary: fc.Arbitrary<T>, count: number): T[] => fc.sample(arbitrary, { seed: 14, numRuns: count });

const rows = [
  ["invocation", samples(arbitraryInvocation, 80)],
  ["entry", samples(arbitraryEntry, 8)],
  ["event", samples(arbitraryEvent, 12)],
  ["lock", samples(arbitraryLock, 8)],
  ["inbox", samples(arbitraryInbox, 12)],
  ["promise", samples(arbitraryPromise, 12)],
  ["pause", samples(arbitraryPause, 8)],
  ["number", samples(arbitrarySafe, 8)],
  ["outbox", samples(arbitraryOutboxCommand, 60)],
  ["packed", samples(arbitraryPacked, 4)],
] as const;
const recorded = rows.flatMap(([form, values]) =>
  values.map((value) => ({
    form,
    row: toBase64((ROW_CODECS[form] as { encode(value: unknown): Uint8Array }).encode(value)),
    value: recordedJson(value),
  })),
);
write("rows.v1.json", recorded);

// ── a partition with a row under every key ───────────────────────────────────────────────────────

const timers: readonly TimerKey[] = (["sleep", "start", "purge", "purgeJournal"] as const).flatMap((kind, n) => [
  { dueAtMs: 1_700_000_000_000 + n, kind, id: anId(n), sequence: n },
  { dueAtMs: n, kind, id: anId(n, 255), sequence: Number.MAX_SAFE_INTEGER - n },
]);
const invocations = new Map(samples(arbitraryInvocation, 24).map((invocation) => [invocation.facts.id, invocation]));
const objects = [
  ["Plain", "key"],
  ["Plain", ""],
  ["Plain@scope", "key"],
  ["Plain", "schlüssel/12:\u0000"],
] as const;
const stateKeys = ["a", "", "\u0000\u00ff", "k".repeat(200)];
const mutations: Mutation[] = [
  ...[...invocations.values()].map((invocation): Mutation => ({ kind: "putInvocation", invocation })),
  ...samples(arbitraryEntry, 40).map((entry, index): Mutation => ({ kind: "appendEntry", id: anId(1), index, entry })),
  ...samples(arbitraryEvent, 17).map((event, slot): Mutation => ({ kind: "putEvent", id: anId(1), slot, event })),
  ...timers.map((timer): Mutation => ({ kind: "putTimer", timer })),
  ...samples(arbitraryOutboxCommand, 12).map(
    (command, n): Mutation => ({ kind: "putOutbox", message: { seq: n * 37, command } }),
  ),
  { kind: "putBucket", bucket: { name: "scope/l1/*", bookedUntilMicros: 1_700_000_000_000_000 } },
  ...samples(arbitraryPause, 2).map((pause, n): Mutation => ({ kind: "putPause", queue: `vq_${n}` as VqueueId, pause })),
  { kind: "putDedup", producer: "p0", seq: 0 },
  { kind: "putDedup", producer: "p63", seq: Number.MAX_SAFE_INTEGER },
  ...objects.flatMap(([service, key], n): Mutation[] => [
    ...stateKeys.map((stateKey): Mutation => ({ kind: "putState", service, key, stateKey, value: Uint8Array.of(n, 0, 255) })),
    ...samples(arbitraryLock, 4)
      .slice(n, n + 1)
      .map((lock): Mutation => ({ kind: "putLock", service, key, lock })),
    ...samples(arbitraryInbox, 6).map((entry, seq): Mutation => ({ kind: "putInbox", service, key, seq, entry })),
    ...samples(arbitraryPromise, 4).map((promise, at): Mutation => {
      return { kind: "putPromise", service, key, name: `versprechen ß ${at}`, promise };
    }),
  ]),
];
const kv = new MemoryKeyValue();
const store = new KvPartitionStore(kv);
const partition = 129;
const epoch = await store.claim(partition);
await store.commit([{ partition, epoch, mutations }]);
const stored = [...kv.snapshot()].sort(([a], [b]) => (a < b ? -1 : 1));
write("partition.v1.json", {
  rows: stored.map(([key, value]) => [Buffer.from(key, "latin1").toString("base64"), toBase64(value)]),
  reads: recordedJson(await partitionReads(store, partition)),
});

function write(name: string, content: unknown): void {
  writeFileSync(join(directory, name), `${JSON.stringify(content)}\n`);
}
