/**
 * A partition whose completed invocations go to an archive behaves like one that keeps them: every command gets the same answer,
 * every caller the same completion, and in the end the same rows are found. While the archive is away, a command may be refused, and
 * then it has done nothing; it is never answered otherwise.
 */
import { expect, test } from "@jest/globals";
import { type InvocationId, PerdureError, silentLogger } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { Answer, AttemptCommand, InvocationFacts, Invoke, JournalEntry, PartitionCommand } from "@perdure/partition";
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
} from "@perdure/partition/testing";
import {
  type ArchivedRow,
  type ArchiveOutcome,
  type AsyncPartitionStore,
  archived,
  KvPartitionStore,
  MemoryArchive,
  MemoryKeyValue,
} from "@perdure/store";
import { behindNetwork } from "@perdure/store/testing";
import { VirtualClock } from "@perdure/testkit";
import fc from "fast-check";
import { Archiver } from "./archiver.js";
import { NO_RULES } from "./flow-control.js";
import { LocalPartitions } from "./local-partitions.js";
import { LoopbackPeers } from "./loopback-peers.js";
import { Processor } from "./processor.js";

/** Time passes in steps of 500 ms, and cleaning comes 100 ms into each: what is due before that is due in both worlds. */
const TARGETS: readonly Partial<InvocationFacts>[] = [
  { idempotencyKey: "k", completionRetentionMs: 5_050, journalRetentionMs: 5_050 },
  { idempotencyKey: "k", completionRetentionMs: 6_050, journalRetentionMs: 2_050 },
  { target: workflowTarget("w"), completionRetentionMs: 4_050, journalRetentionMs: 4_050 },
  { target: objectTarget("o"), idempotencyKey: "k", completionRetentionMs: 9_050, journalRetentionMs: 9_050 },
  { idempotencyKey: "k", completionRetentionMs: 0, journalRetentionMs: 0 },
];
const factsOf = (n: number, createdAtMs: number): InvocationFacts => someFacts({ id: anId(n + 1), createdAtMs, ...TARGETS[n] });

const settle = async (rounds = 30): Promise<void> => {
  for (let i = 0; i < rounds; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** An archive that takes its time, and can be away. */
class AbsentArchive extends MemoryArchive {
  isAway = false;

  async #answer(): Promise<void> {
    await settle(2);
    if (this.isAway) throw new PerdureError("STO0001", "away");
  }

  override async put(...args: Parameters<MemoryArchive["put"]>): Promise<ArchiveOutcome> {
    await this.#answer();
    return super.put(...args);
  }
  override async forget(...args: Parameters<MemoryArchive["forget"]>): Promise<ArchiveOutcome> {
    await this.#answer();
    return super.forget(...args);
  }
  override async find(ids: readonly InvocationId[]): Promise<readonly ArchivedRow[]> {
    await this.#answer();
    return super.find(ids);
  }
  override async journal(id: InvocationId): Promise<readonly JournalEntry[]> {
    await this.#answer();
    return super.journal(id);
  }
  override async expire(nowMs: number, limit: number): Promise<number> {
    await this.#answer();
    return super.expire(nowMs, limit);
  }
}

async function world(kind: "plain" | "archived") {
  const clock = new VirtualClock();
  const kv = new KvPartitionStore(new MemoryKeyValue());
  const store = {
    ...behindNetwork(kv),
    async completedBefore(partition: number, beforeMs: number, limit: number): Promise<readonly InvocationId[]> {
      const ids: InvocationId[] = [];
      for await (const { facts, milestones } of kv.completed(partition))
        if ((milestones.completedAtMs ?? 0) < beforeMs) ids.push(facts.id);
      return ids.slice(0, limit);
    },
  };
  const archive = new AbsentArchive();
  const peers = new LoopbackPeers();
  let host: InvokerHost | undefined;
  const failures: string[] = [];
  const processor = await Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (given) => {
        host = given;
        return {
          startRun: () => undefined,
          entryStored: () => undefined,
          stopRun: () => undefined,
          requestPause: () => undefined,
          retryNow: () => undefined,
          status: () => undefined,
          statuses: () => [],
          [Symbol.asyncDispose]: async () => undefined,
        };
      },
      rules: NO_RULES,
      ...(kind === "archived" ? { archive } : {}),
      peers,
      onFenced: () => failures.push("fenced"),
      onFatal: (error) => failures.push(error.message),
    },
    { partitions: [0], partitionCount: 1, cleanupIntervalMs: 100 },
  );
  peers.connect(processor);
  const archiver =
    kind === "plain"
      ? undefined
      : new Archiver({ store, archive, processor, clock, logger: silentLogger }, { ageMs: 300, intervalMs: 100 });
  const partitions = new LocalPartitions(processor);
  const ask = <T>(start: () => Promise<T>): Promise<T | "unavailable"> =>
    start().catch((cause: unknown) => {
      expect(PerdureError.from(cause).code).toBe("STO0002");
      return "unavailable";
    });
  const own = {
    kind,
    clock,
    archive,
    failures,
    reading: kind === "plain" ? (store as AsyncPartitionStore) : archived(store, archive, () => clock.nowMs()),
    kv,
    describe: (id: InvocationId) => ask(() => partitions.describe(id)),
    submit: (command: Exclude<PartitionCommand, Invoke>): Promise<Answer | "unavailable"> =>
      ask(() => partitions.submit(command)),
    invoke: (command: Invoke): Promise<unknown> =>
      new Promise((resolve) => {
        partitions.invoke(command, false, {
          submitted: resolve,
          completed: resolve,
          unavailable: () => resolve("unavailable"),
        });
      }),
    attempt: (command: AttemptCommand): void => host?.submit(command),
    async advance(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 500) {
        clock.advanceBy(500);
        await settle(60);
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const ended = archiver?.[Symbol.asyncDispose]();
      await settle();
      await ended;
      await processor[Symbol.asyncDispose]();
    },
  };
  return own;
}
type World = Awaited<ReturnType<typeof world>>;

type Step =
  /** `live` is to invoke, to finish, and to age. */
  | { readonly kind: "live" | "invoke" | "finish" | "describe"; readonly n: number }
  | { readonly kind: "purge" | "purgeJournal" | "cancel" | "kill" | "pause" | "resume" | "restartAsNew"; readonly n: number }
  /** An invocation of its own that calls, attaches to, or asks for the output of another. */
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

/** Bytes and times do not matter as objects. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (key, each: unknown) => {
    if (key === "bytes") return undefined;
    if (each instanceof Uint8Array) return Buffer.from(each).toString("hex");
    return typeof each === "bigint" ? String(each) : each;
  });
  return JSON.parse(text) as unknown;
}

async function perform(of: World, { kind, ...rest }: Step, serial: number): Promise<unknown> {
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
      const found = await of.describe(id);
      if (found === "unavailable" || found === undefined || found.status !== "invoked") return found;
      const { run } = found;
      if (facts.target.key !== undefined) of.attempt(setStateOf(id, run, "k", `v${serial}`));
      if (facts.target.serviceType === "workflow")
        of.attempt(completePromiseOf(id, run, "p", 1, { kind: "value", value: new Uint8Array([serial]) }));
      of.attempt(outputOf(id, run, `out${serial}`));
      of.attempt(endOf(id, run));
      return settle();
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
      return settle(60);
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

/** What an observer finds, journals included. */
async function everything({ reading }: World): Promise<unknown> {
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

const isAnswered = ({ kind }: Step): boolean => !["live", "call", "attach", "getOutput", "advance", "finish"].includes(kind);

let archivedOnce = 0;

async function behaveTheSame(steps: readonly Planned[]): Promise<void> {
  await using one = await world("archived");
  await using other = await world("plain");
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
    // Whatever waited for the archive is done when that has been back for a while.
    if (wasAway && step.kind === "advance") for (const each of [one, other]) await each.advance(2_000);
    await settle();
    expect(await everything(one)).toEqual(await everything(other));
  }
  // Everything that is due in the end goes everywhere.
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
