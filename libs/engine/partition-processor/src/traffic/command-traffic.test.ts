/** Real commands on a partition: each invocation is counted once when it is created and once when it completes. */
import { expect, test } from "@jest/globals";
import { apply, type InvocationFacts, type PartitionCommand } from "@perdure/state-machine";
import { anId, endOf, invokeOf, objectTarget, outputOf, plainTarget, someFacts } from "@perdure/state-machine/testing";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { LiveView } from "../view/live-view.js";
import { TrafficCounters } from "./traffic-counters.js";

const NOON = Date.parse("2026-11-27T12:00:00Z");
const MINUTE_MS = 60_000;

async function aPartition() {
  const store = new KvPartitionStore(new MemoryKeyValue());
  const epoch = await store.claim(0);
  const counters = new TrafficCounters();
  const view = new LiveView(0, store.reads, counters);
  view.nowMs = NOON;
  const commit = async (): Promise<void> => {
    await store.commit([{ partition: 0, epoch, mutations: view.seal() }]);
    view.markDurable();
  };
  return {
    view,
    /** Each command in a batch of its own, so that the next one reads stored rows. */
    async play(...commands: readonly PartitionCommand[]): Promise<void> {
      for (const command of commands) {
        apply(view, command, view);
        view.accept();
        await commit();
      }
    },
    totals(): { readonly created: number; readonly completed: number; readonly failed: number; readonly msMax: Set<number> } {
      const totals = { created: 0, completed: 0, failed: 0, msMax: new Set<number>() };
      for (const { periodMs, durationMsMax, created, completed, failed } of counters.counts(NOON)) {
        if (periodMs !== MINUTE_MS) continue;
        totals.created += created;
        totals.completed += completed;
        totals.failed += failed;
        if (durationMsMax !== undefined) totals.msMax.add(durationMsMax);
      }
      return totals;
    },
  };
}

const factsOf = (n: number, over: Partial<InvocationFacts> = {}): InvocationFacts =>
  someFacts({ id: anId(n), target: plainTarget, createdAtMs: NOON - 100, ...over });
const completionOf = (facts: InvocationFacts): readonly PartitionCommand[] => [outputOf(facts.id, 1, "out"), endOf(facts.id, 1)];

test("a resubmitted invocation is counted once, and again only when it completes", async () => {
  const { play, totals } = await aPartition();
  const facts = factsOf(1);
  const resubmitted = { ...invokeOf(facts), resubmission: true } as const;
  await play(invokeOf(facts), resubmitted);
  expect(totals()).toMatchObject({ created: 1, completed: 0 });
  await play(...completionOf(facts), resubmitted, { kind: "purge", id: facts.id });
  expect(totals()).toEqual({ created: 1, completed: 1, failed: 0, msMax: new Set([128]) });
});

test("one that is not retained is counted when it is deleted", async () => {
  const { play, totals } = await aPartition();
  const facts = factsOf(2, { completionRetentionMs: 0, journalRetentionMs: 0 });
  await play(invokeOf(facts), ...completionOf(facts));
  expect(totals()).toMatchObject({ created: 1, completed: 1, failed: 0 });
});

test("one that is killed before it ran has failed", async () => {
  const { play, totals } = await aPartition();
  const target = objectTarget("k");
  const [holder, waiting] = [factsOf(3, { target }), factsOf(4, { target })];
  await play(invokeOf(holder), invokeOf(waiting), { kind: "kill", id: waiting.id });
  expect(totals()).toMatchObject({ created: 2, completed: 1, failed: 1 });
});

test("a command that has to be applied again counts once", async () => {
  const { view, play, totals } = await aPartition();
  const facts = factsOf(5);
  apply(view, invokeOf(facts), view);
  view.takeBack();
  expect(totals()).toMatchObject({ created: 0 });
  await play(invokeOf(facts));
  expect(totals()).toMatchObject({ created: 1 });
});
