/**
 * Contract: invocations are read as they were put, scans separate finished from unfinished ones, journals and events keep their order.
 */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { Invocation, JournalEntry, JournalEvent, Mutation } from "@perdure/state-machine";
import { EVENT_SLOTS } from "@perdure/state-machine";
import { anId, anInvocation, objectTarget, someFacts } from "@perdure/state-machine/testing";
import { JournalTooLarge } from "../journal-too-large.js";
import type { StoreUnderTest } from "./contract.js";
import { all, lead } from "./rows.js";

const STATUSES: readonly Invocation["status"][] = ["scheduled", "inboxed", "invoked", "suspended", "paused", "completed"];

const entryOf = (text: string, type: number = MessageType.SetState, appendedAtMs = 1_795_000_000_123): JournalEntry => ({
  type,
  body: utf8(text),
  appendedAtMs,
});

const eventAt = (atMs: number, message: string): JournalEvent => ({
  kind: "transientError",
  afterIndex: 0,
  atMs,
  error: {
    errorCode: "RT0007",
    code: 500,
    message,
    stacktrace: undefined,
    relatedCommandIndex: undefined,
    relatedCommandName: undefined,
    relatedCommandType: undefined,
  },
});

/** The cache of encoded facts is an implementation's own. */
const plain = (invocation: Invocation | undefined) =>
  invocation === undefined ? undefined : { ...invocation, facts: { ...invocation.facts, bytes: undefined } };

export function invocationsAndJournals({ open }: StoreUnderTest): void {
  describe("invocations and journals", () => {
    test.each(STATUSES)("an invocation that is %s is read back as it was put", async (status) => {
      await using store = await open();
      const leader = await lead(store);
      const invocation = anInvocation(status, { facts: someFacts({ target: objectTarget("ключ/\u{1f511}") }) });
      await leader.put({ kind: "putInvocation", invocation });
      expect(plain(store.reads.invocation(0, invocation.facts.id))).toEqual(plain(invocation));
    });

    test("the unfinished scan returns every status but completed, and can be restricted to one", async () => {
      await using store = await open();
      const leader = await lead(store);
      await leader.put(
        ...STATUSES.map(
          (status, n): Mutation => ({
            kind: "putInvocation",
            invocation: anInvocation(status, { facts: someFacts({ id: anId(n) }) }),
          }),
        ),
      );
      const statuses = (rows: readonly Invocation[]) => rows.map((row) => row.status).sort();
      expect(statuses(await all(store.unfinished(0, undefined)))).toEqual([
        "inboxed",
        "invoked",
        "paused",
        "scheduled",
        "suspended",
      ]);
      for (const status of STATUSES) {
        expect(statuses(await all(store.unfinished(0, status)))).toEqual(status === "completed" ? [] : [status]);
      }
      expect(statuses(await all(store.completed(0)))).toEqual(["completed"]);
    });

    test("completing moves an invocation from one scan to the other, deleting takes it from both", async () => {
      await using store = await open();
      const leader = await lead(store);
      const running = anInvocation("invoked");
      await leader.put({ kind: "putInvocation", invocation: running });
      await leader.put({ kind: "putInvocation", invocation: anInvocation("completed") });
      expect(await all(store.unfinished(0, undefined))).toEqual([]);
      expect(await all(store.completed(0))).toHaveLength(1);
      // A deterministic id can be used again after its record was deleted.
      await leader.put({ kind: "deleteInvocation", id: running.facts.id });
      expect(await all(store.completed(0))).toEqual([]);
      expect(store.reads.invocation(0, running.facts.id)).toBeUndefined();
      await leader.put({ kind: "putInvocation", invocation: running });
      expect(store.reads.invocation(0, running.facts.id)?.status).toBe("invoked");
      expect(await all(store.completed(0))).toEqual([]);
    });

    test("an id that is deleted and created again in one batch exists once", async () => {
      await using store = await open();
      const leader = await lead(store);
      const { id } = someFacts();
      await leader.put({ kind: "putInvocation", invocation: anInvocation("completed") });
      await leader.put({ kind: "deleteInvocation", id }, { kind: "putInvocation", invocation: anInvocation("scheduled") });
      expect(await all(store.completed(0))).toEqual([]);
      expect(store.reads.invocation(0, id)?.status).toBe("scheduled");
      await leader.put({ kind: "deleteInvocation", id });
      expect(store.reads.invocation(0, id)).toBeUndefined();
    });

    test("a journal is read back in order, byte for byte, however long it is", async () => {
      await using store = await open();
      const leader = await lead(store);
      const entries = Array.from({ length: 1_300 }, (_, n) =>
        entryOf(`entry ${n}`, n % 2 === 0 ? MessageType.Sleep : MessageType.Signal),
      );
      await leader.put(...entries.map((entry, index): Mutation => ({ kind: "appendEntry", id: anId(1), index, entry })));
      expect(await store.readJournal(0, anId(1), entries.length)).toEqual(entries);
      expect(await store.readJournal(0, anId(1), 3)).toEqual(entries.slice(0, 3));
      expect(await store.readJournal(0, anId(1), 0)).toEqual([]);
      expect(store.reads.entry(0, anId(1), 1_299)).toEqual(entries[1_299]);
      expect(store.reads.entry(0, anId(1), 1_300)).toBeUndefined();
    });

    test("a journal with more bytes than the reader permits is not read to its end", async () => {
      await using store = await open();
      const leader = await lead(store);
      const entries = Array.from({ length: 700 }, (_, n) => entryOf("x".repeat(1_000 + n)));
      await leader.put(...entries.map((entry, index): Mutation => ({ kind: "appendEntry", id: anId(1), index, entry })));
      const bytes = entries.reduce((sum, { body }) => sum + body.length, 0);
      expect(await store.readJournal(0, anId(1), entries.length, bytes)).toEqual(entries);
      for (const bytesMax of [bytes - 1, 5_000, 0])
        await expect(store.readJournal(0, anId(1), entries.length, bytesMax)).rejects.toThrow(JournalTooLarge);
      expect(await store.readJournal(0, anId(1), 3, 5_000)).toEqual(entries.slice(0, 3));
    });

    test("an entry may be empty, and its time may be any millisecond of our age", async () => {
      await using store = await open();
      const leader = await lead(store);
      const times = [0, 1, 65_535, 65_536, 1_795_000_000_000, 2 ** 47 - 1, 2 ** 48 - 1];
      await leader.put(
        ...times.map(
          (at, index): Mutation => ({ kind: "appendEntry", id: anId(1), index, entry: entryOf("", MessageType.Signal, at) }),
        ),
      );
      const read = await store.readJournal(0, anId(1), times.length);
      expect(read.map((entry) => [entry.appendedAtMs, entry.body.length, entry.type])).toEqual(
        times.map((at) => [at, 0, MessageType.Signal]),
      );
    });

    test("deleting a journal deletes all of it and no other journal", async () => {
      await using store = await open();
      const leader = await lead(store);
      for (const id of [anId(1), anId(2)]) {
        await leader.put(...[0, 1, 2].map((index): Mutation => ({ kind: "appendEntry", id, index, entry: entryOf(`${index}`) })));
      }
      await leader.put({ kind: "deleteJournal", id: anId(1), length: 3 });
      for (const index of [0, 1, 2]) {
        expect(store.reads.entry(0, anId(1), index)).toBeUndefined();
        expect(store.reads.entry(0, anId(2), index)).toBeDefined();
      }
    });

    test("events come back oldest first; a slot written again holds the newer one", async () => {
      await using store = await open();
      const leader = await lead(store);
      const put = (slot: number, event: JournalEvent): Mutation => ({ kind: "putEvent", id: anId(1), slot, event });
      const paused: JournalEvent = { kind: "paused", afterIndex: -1, atMs: 25, error: undefined };
      await leader.put(
        put(1, eventAt(10, "first")),
        put(2, eventAt(20, "second")),
        put(EVENT_SLOTS, paused),
        put(1, eventAt(30, "third")),
      );
      expect(await store.events(0, anId(1))).toEqual([eventAt(20, "second"), paused, eventAt(30, "third")]);
      expect(await store.events(0, anId(2))).toEqual([]);
      await leader.put({ kind: "deleteEvents", id: anId(1) });
      expect(await store.events(0, anId(1))).toEqual([]);
    });

    test("an event keeps every field of the failure of its attempt", async () => {
      await using store = await open();
      const leader = await lead(store);
      const event: JournalEvent = {
        kind: "transientError",
        afterIndex: 41,
        atMs: 1_795_000_000_000,
        error: {
          errorCode: "RT0016",
          code: 570,
          message: "Журнал",
          stacktrace: "at h (s.ts:1)",
          relatedCommandIndex: 0,
          relatedCommandName: "",
          relatedCommandType: MessageType.Run,
        },
      };
      await leader.put({ kind: "putEvent", id: anId(1), slot: 0, event });
      expect(await store.events(0, anId(1))).toEqual([event]);
    });
  });
}
