/** Contract: timers are read by due time in pages, the outbox by sequence, and the highest delivery of each producer is kept. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { encodeInput, encodeNotification, MessageType, voidResult } from "@perdure/service-protocol";
import {
  type Mutation,
  OWN_TTL_SERVICES_KEY,
  type PartitionCommand,
  STATE_TTL_SERVICE,
  type TimerKey,
} from "@perdure/state-machine";
import { anId, someFacts } from "@perdure/state-machine/testing";
import type { StoreUnderTest } from "./contract.js";
import { lead } from "./rows.js";

const timer = (dueAtMs: number, kind: TimerKey["kind"], n = 1, sequence = 0): TimerKey => ({
  dueAtMs,
  kind,
  id: anId(n),
  sequence,
});
const putTimer = (key: TimerKey): Mutation => ({ kind: "putTimer", timer: key });

/** One command of each kind that partitions send each other, with every optional part present and absent. */
const OUTBOX_COMMANDS: readonly PartitionCommand[] = [
  {
    kind: "invoke",
    id: anId(1),
    facts: someFacts({
      idempotencyKey: "",
      executionTimeMs: 5,
      source: { kind: "service", callerId: anId(2), callerTarget: someFacts().target },
    }),
    input: encodeInput([{ key: "h", value: "" }], utf8("in")),
    sink: { kind: "call", callerId: anId(2), callerGeneration: 0, completionId: 3 },
  },
  { kind: "invoke", id: anId(1), facts: someFacts(), input: encodeInput([], new Uint8Array(0)), sink: undefined },
  { kind: "attach", id: anId(1), sink: { kind: "attach", callerId: anId(2), callerGeneration: undefined, completionId: 0 } },
  { kind: "queryOutput", id: anId(1), callerId: anId(2), callerGeneration: 7, completionId: 4 },
  {
    kind: "notify",
    id: anId(1),
    generation: 1_795_000_000_000,
    type: MessageType.CallCompletion,
    body: encodeNotification({ kind: "completion", id: 1 }, voidResult),
  },
  {
    kind: "signal",
    id: anId(1),
    signal: { kind: "signalIndex", index: 17 },
    result: { kind: "value", value: new Uint8Array(0) },
  },
  { kind: "signal", id: anId(1), signal: { kind: "signalName", name: "ä" }, result: voidResult },
  {
    kind: "signal",
    id: anId(1),
    signal: { kind: "signalIndex", index: 1 },
    result: { kind: "failure", failure: { code: 500, message: "no", metadata: [] } },
  },
  { kind: "kill", id: anId(1) },
];

const plain = (command: PartitionCommand): PartitionCommand =>
  command.kind === "invoke" ? { ...command, facts: { ...command.facts, bytes: undefined } } : command;

export function timersAndQueues({ open }: StoreUnderTest): void {
  describe("timers and queues", () => {
    test("timers come by due time, each group by itself", async () => {
      await using store = await open();
      const leader = await lead(store);
      const precise = [
        timer(5, "start"),
        timer(5, "sleep", 1, 1),
        timer(5, "sleep", 1, 2),
        timer(5, "sleep", 2, 1),
        timer(40, "sleep"),
        timer(1_795_000_000_000, "sleep"),
      ];
      const retention = [timer(4, "purge"), timer(6, "purgeJournal"), timer(6, "purge")];
      const expiring = [timer(3, "expireState"), timer(6, "expireState", 2)];
      await leader.put(...[...precise, ...retention, ...expiring].reverse().map(putTimer));
      const page = await store.timers(0, "precise", 0, 100);
      expect(page.map((each) => each.dueAtMs)).toEqual([5, 5, 5, 5, 40, 1_795_000_000_000]);
      expect(new Set(page.map((each) => JSON.stringify(each)))).toEqual(new Set(precise.map((each) => JSON.stringify(each))));
      expect((await store.timers(0, "retention", 0, 100)).map((each) => each.dueAtMs)).toEqual([4, 6, 6]);
      expect(await store.timers(0, "state", 0, 100)).toEqual(expiring);
      expect((await store.timers(0, "state", 4, 100)).map((each) => each.dueAtMs)).toEqual([6]);
      expect(expiring.map((each) => store.reads.hasTimer(0, each))).toEqual([true, true]);
    });

    test("a leader gets the first time at which state expires, and the services whose objects have times to live of their own", async () => {
      await using store = await open();
      const leader = await lead(store);
      expect((await store.flow(0)).stateTtls).toBeUndefined();
      await leader.put(putTimer(timer(9, "expireState")), putTimer(timer(7, "expireState", 2)));
      expect((await store.flow(0)).stateTtls).toEqual({ ownServices: [], firstDueAtMs: 7 });
      const own = { service: STATE_TTL_SERVICE, key: OWN_TTL_SERVICES_KEY, value: new Uint8Array(0) };
      await leader.put({ kind: "putState", ...own, stateKey: "Cart" }, { kind: "putState", ...own, stateKey: "Session" });
      expect((await store.flow(0)).stateTtls).toEqual({ ownServices: ["Cart", "Session"], firstDueAtMs: 7 });
    });

    test("a page begins at the requested time and ends at its limit; reading on from its last due time misses none", async () => {
      await using store = await open();
      const leader = await lead(store);
      const timers = Array.from({ length: 50 }, (_, n) => timer(Math.floor(n / 3) * 10, "sleep", n, n));
      await leader.put(...timers.map(putTimer));
      expect((await store.timers(0, "precise", 31, 4)).map((each) => each.dueAtMs)).toEqual([40, 40, 40, 50]);
      const keys = new Set<string>();
      for (let from = 0; ; ) {
        const page = await store.timers(0, "precise", from, 7);
        for (const each of page) keys.add(JSON.stringify(each));
        const last = page[page.length - 1];
        if (last === undefined || page.length < 7) break;
        from = last.dueAtMs;
      }
      expect(keys.size).toBe(timers.length);
    });

    test("a timer is deleted by its whole key", async () => {
      await using store = await open();
      const leader = await lead(store);
      const [kept, gone] = [timer(5, "sleep", 1, 1), timer(5, "sleep", 1, 2)];
      await leader.put(putTimer(kept), putTimer(gone));
      await leader.put({ kind: "deleteTimer", timer: gone });
      expect(store.reads.hasTimer(0, kept)).toBe(true);
      expect(store.reads.hasTimer(0, gone)).toBe(false);
      expect(store.reads.hasTimer(0, { ...kept, kind: "start" })).toBe(false);
      expect(await store.timers(0, "precise", 0, 10)).toEqual([kept]);
    });

    test("due times before 1970 and beyond the end of time sort correctly, and can be deleted after they were read", async () => {
      await using store = await open();
      const leader = await lead(store);
      await leader.put(
        putTimer(timer(-5, "sleep", 1)),
        putTimer(timer(Number.MAX_SAFE_INTEGER, "sleep", 2)),
        putTimer(timer(7, "sleep", 3)),
      );
      const page = await store.timers(0, "precise", -10, 10);
      expect(page.map((each) => each.id)).toEqual([anId(1), anId(3), anId(2)]);
      for (const each of page) {
        expect(store.reads.hasTimer(0, each)).toBe(true);
        await leader.put({ kind: "deleteTimer", timer: each });
      }
      expect(await store.timers(0, "precise", 0, 10)).toEqual([]);
    });

    test("the outbox gives messages by sequence, after one already read, as they were put", async () => {
      await using store = await open();
      const leader = await lead(store);
      const seqs = OUTBOX_COMMANDS.map((_, n) => n * 2 ** 33 + n);
      const messages = OUTBOX_COMMANDS.map((command, n) => ({ seq: seqs[n] as number, command }));
      await leader.put(...[...messages].reverse().map((message): Mutation => ({ kind: "putOutbox", message })));
      const read = await store.outbox(0, -1, 100);
      expect(read.map((message) => message.seq)).toEqual(seqs);
      expect(read.map((message) => plain(message.command))).toEqual(OUTBOX_COMMANDS.map(plain));
      expect((await store.outbox(0, seqs[1] as number, 2)).map((message) => message.seq)).toEqual(seqs.slice(2, 4));
      await leader.put({ kind: "deleteOutbox", seq: seqs[0] as number });
      expect((await store.outbox(0, -1, 1)).map((message) => message.seq)).toEqual([seqs[1]]);
    });

    test("the last sequence of each producer is kept, by partition", async () => {
      await using store = await open();
      const [a, b] = [await lead(store, 0), await lead(store, 1)];
      await a.put(
        { kind: "putDedup", producer: "p1", seq: 0 },
        { kind: "putDedup", producer: "p11", seq: 7 },
        { kind: "putDedup", producer: "тема/1", seq: 8 },
      );
      await b.put({ kind: "putDedup", producer: "p1", seq: 2 ** 52 });
      expect(store.reads.dedup(0, "p1")).toBe(0);
      expect(store.reads.dedup(0, "p11")).toBe(7);
      expect(store.reads.dedup(0, "тема/1")).toBe(8);
      expect(store.reads.dedup(1, "p1")).toBe(2 ** 52);
      expect(store.reads.dedup(0, "p2")).toBeUndefined();
    });
  });
}
