/**
 * A partition whose completed invocations go to an archive behaves like one that keeps them: every command gets the same reply, every
 * caller the same completion, and in the end the same rows can be read. While the archive is unavailable, a command may be refused, and
 * then it has changed nothing; it never gets a different reply.
 */
import { expect, test } from "@jest/globals";
import type { InvocationFacts } from "@perdure/state-machine";
import {
  anId,
  attachOf,
  callOf,
  completePromiseOf,
  endOf,
  invokeOf,
  objectTarget,
  outputOf,
  setStateOf,
  someFacts,
  workflowTarget,
} from "@perdure/state-machine/testing";
import { newPopulation, type Population } from "@perdure/storage";
import fc from "fast-check";
import { type ArchivingWorld, archivingWorld, flushTasks } from "../testing/archiving-world.js";

/** Time passes in steps of 500 ms, and cleaning comes 100 ms into each: timers due before that are due in both worlds. */
const TARGETS: readonly Partial<InvocationFacts>[] = [
  { idempotencyKey: "k", completionRetentionMs: 5_050, journalRetentionMs: 5_050 },
  { idempotencyKey: "k", completionRetentionMs: 6_050, journalRetentionMs: 2_050 },
  { target: workflowTarget("w"), completionRetentionMs: 4_050, journalRetentionMs: 4_050 },
  { target: objectTarget("o"), idempotencyKey: "k", completionRetentionMs: 9_050, journalRetentionMs: 9_050 },
  { idempotencyKey: "k", completionRetentionMs: 0, journalRetentionMs: 0 },
];
const factsOf = (n: number, createdAtMs: number): InvocationFacts => someFacts({ id: anId(n + 1), createdAtMs, ...TARGETS[n] });

type Step =
  /** `live` invokes, finishes and ages an invocation. */
  | { readonly kind: "live" | "invoke" | "finish" | "describe"; readonly n: number }
  | { readonly kind: "purge" | "purgeJournal" | "cancel" | "kill" | "pause" | "resume" | "restartAsNew"; readonly n: number }
  /** A separate invocation that calls, attaches to, or reads the output of another. */
  | { readonly kind: "call" | "attach" | "getOutput"; readonly n: number }
  | { readonly kind: "advance"; readonly ms: number };
type Planned = { readonly step: Step; readonly away: boolean };

const target = fc.nat(TARGETS.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("live" as const), n: target }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("invoke" as const), n: target }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("finish" as const), n: target }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(500, 1_500, 4_000) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("describe", "purge", "purgeJournal", "cancel", "kill", "pause", "resume", "restartAsNew"),
      n: target,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("call", "attach", "getOutput"), n: target }) },
);
const planned: fc.Arbitrary<Planned> = fc.record({ step, away: fc.boolean() });

/** Converts bytes and drops times, for comparison. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (key, each: unknown) => {
    if (key === "bytes") return undefined;
    if (each instanceof Uint8Array) return Buffer.from(each).toString("hex");
    return typeof each === "bigint" ? String(each) : each;
  });
  return JSON.parse(text) as unknown;
}

async function perform(of: ArchivingWorld, { kind, ...rest }: Step, serial: number): Promise<unknown> {
  if (!("n" in rest)) return of.advance((rest as { ms: number }).ms);
  const facts = factsOf(rest.n, of.clock.nowMs());
  const { id } = facts;
  switch (kind) {
    case "live":
      await of.invoke(invokeOf(facts));
      await perform(of, { kind: "finish", n: rest.n }, serial);
      return of.advance(1_000);
    case "invoke":
      return of.invoke(invokeOf(facts));
    case "describe":
      return of.describe(id);
    case "finish": {
      const description = await of.describe(id);
      if (description === "unavailable" || description === undefined || description.status !== "invoked") return description;
      const { run } = description;
      if (facts.target.key !== undefined) of.attempt(setStateOf(id, run, "k", `v${serial}`));
      if (facts.target.serviceType === "workflow")
        of.attempt(completePromiseOf(id, run, "p", 1, { kind: "value", value: new Uint8Array([serial]) }));
      of.attempt(outputOf(id, run, `out${serial}`));
      of.attempt(endOf(id, run));
      return flushTasks();
    }
    case "restartAsNew":
      return of.submit({ kind, id, newId: anId(1_000 + serial), from: 0, keepDeployment: true, moveTo: undefined });
    case "resume":
      return of.submit({ kind, id, moveTo: undefined });
    case "call":
    case "attach":
    case "getOutput": {
      const caller = someFacts({ id: anId(2_000 + serial), createdAtMs: of.clock.nowMs(), completionRetentionMs: 1_000_000 });
      await of.invoke(invokeOf(caller));
      of.attempt(kind === "call" ? callOf(caller.id, 1, facts, 1, 2) : attachOf(caller.id, 1, id, 1, kind));
      return flushTasks(60);
    }
    case "purge":
    case "purgeJournal":
    case "cancel":
    case "kill":
    case "pause":
      return of.submit({ kind, id });
    default:
      return undefined;
  }
}

async function all<T>(rows: AsyncIterable<T>): Promise<string[]> {
  const list: string[] = [];
  for await (const row of rows) list.push(JSON.stringify(plain(row)));
  return list.sort();
}

/** Returns everything that a reader outside gets, journals included. */
async function everything({ reading }: ArchivingWorld): Promise<unknown> {
  const journals: unknown[] = [];
  for await (const { facts, journal } of reading.completed(0))
    journals.push(plain([facts.id, await reading.readJournal(0, facts.id, journal.length), await reading.events(0, facts.id)]));
  return {
    completed: await all(reading.completed(0)),
    unfinished: await all(reading.unfinished(0, undefined)),
    state: await all(reading.scanState(0, undefined)),
    promises: await all(reading.scanPromises(0)),
    locks: await all(reading.scanLocks(0)),
    outbox: (await reading.outbox(0, -1, 100)).length,
    journals: journals.map((each) => JSON.stringify(each)).sort(),
  };
}

/** Returns the counts that the processor has added up. */
function populationOf({ processor }: ArchivingWorld): Population {
  const population = newPopulation();
  processor.addPopulation(population);
  return population;
}

/** Counts of the stored invocations and timers. */
async function countedPopulation({ reading }: ArchivingWorld): Promise<Population> {
  const counted = newPopulation();
  for await (const _ of reading.recoverable(0, counted));
  return counted;
}

const isAnswered = ({ kind }: Step): boolean => !["live", "call", "attach", "getOutput", "advance", "finish"].includes(kind);

let archivedOnce = 0;

async function behaveTheSame(steps: readonly Planned[]): Promise<void> {
  await using one = await archivingWorld("archived");
  await using other = await archivingWorld("plain");
  for (const [serial, { step, away }] of steps.entries()) {
    one.archive.isAway = away && (isAnswered(step) || step.kind === "advance");
    const answer = await perform(one, step, serial);
    const wasAway = one.archive.isAway;
    one.archive.isAway = false;
    archivedOnce += one.archive.size;
    if (answer === "unavailable") {
      expect(wasAway).toBe(true);
      continue;
    }
    expect(plain(answer)).toEqual(plain(await perform(other, step, serial)));
    // Commands that waited for the archive are done when it has been available again for a while.
    if (wasAway && step.kind === "advance") for (const each of [one, other]) await each.advance(2_000);
    await flushTasks();
    expect(await everything(one)).toEqual(await everything(other));
    for (const each of [one, other]) expect(populationOf(each)).toEqual(await countedPopulation(each));
  }
  // Lets everything that is due happen in both worlds.
  for (const each of [one, other]) await each.advance(12_000);
  expect(await everything(one)).toEqual(await everything(other));
  expect([one.failures, other.failures]).toEqual([[], []]);
}

test("for every sequence of commands an archived partition behaves like a plain one", async () => {
  await fc.assert(fc.asyncProperty(fc.array(planned, { minLength: 6, maxLength: 18, size: "max" }), behaveTheSame), {
    numRuns: 40,
  });
  expect(archivedOnce).toBeGreaterThan(100);
}, 180_000);
