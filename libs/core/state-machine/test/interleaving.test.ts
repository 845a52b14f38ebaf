/**
 * Any commands in any order leave a partition that holds its invariants. Half of the commands are drawn from what the partition holds,
 * and half are not: late reports, wrong numbers, repeated deliveries.
 */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, siblingInvocationId, utf8 } from "@perdure/base";
import { isCommand, voidResult } from "@perdure/service-protocol";
import { SeededRandom } from "@perdure/testkit";
import {
  brokenInvariants,
  type Effect,
  type Invocation,
  isSlotted,
  type PartitionCommand,
  queueOfLock,
  queueOfScope,
  routeOfQueue,
  type Target,
  waitsForSlot,
} from "../src/index.js";
import {
  anId,
  attachOf,
  callOf,
  completePromiseOf,
  endOf,
  failOf,
  getPromiseOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  peekPromiseOf,
  pinOf,
  plainTarget,
  proposeOf,
  runOf,
  scopedTarget,
  sendSignalOf,
  setStateOf,
  sleepOf,
  someFacts,
  suspendOf,
  tree,
  workflowTarget,
} from "../src/testing/index.js";

const COMMANDS = 120;
const SEEDS = 60;
const IDS = 7;

const TARGETS: readonly Target[] = [
  plainTarget,
  objectTarget("a"),
  objectTarget("a"),
  objectTarget("b"),
  objectTarget("a", "shared"),
  workflowTarget("w"),
  workflowTarget("w", "shared"),
];

/** The same, and some in a scope whose rules change. */
const SCOPED_TARGETS: readonly Target[] = [
  scopedTarget("s1"),
  objectTarget("a"),
  scopedTarget("s1"),
  workflowTarget("w", "workflow", "s1"),
  workflowTarget("w", "shared", "s1"),
  workflowTarget("w"),
  objectTarget("a"),
];
const QUEUES = [
  queueOfScope({ ...scopedTarget("s1"), scope: "s1" }, undefined),
  queueOfScope({ ...workflowTarget("w", "workflow", "s1"), scope: "s1" }, undefined),
  queueOfLock("O", "a"),
];

/** The slots of a scheduler, computed from its effects. */
class SlotBook {
  readonly waiting = new Set<InvocationId>();
  readonly slotHolders = new Set<InvocationId>();

  record(effect: Effect): void {
    switch (effect.kind) {
      case "requestSlot":
        this.waiting.add(effect.invocation.facts.id);
        return;
      case "takeSlot":
        this.waiting.delete(effect.invocation.facts.id);
        this.slotHolders.add(effect.invocation.facts.id);
        return;
      case "releaseSlot":
        this.slotHolders.delete(effect.id);
        return;
      case "withdraw":
        this.waiting.delete(effect.id);
    }
  }

  /** Where it differs from the stored invocations. */
  wrong(invocations: Iterable<Invocation>): string[] {
    const waiting = new Set<InvocationId>();
    const slotHolders = new Set<InvocationId>();
    for (const invocation of invocations) {
      if (!isSlotted(invocation.facts.target)) continue;
      if (invocation.status === "invoked") slotHolders.add(invocation.facts.id);
      if (waitsForSlot(invocation)) waiting.add(invocation.facts.id);
    }
    return [
      ...differing(waiting, this.waiting).map((id) => `${id} waits for a slot, or does not`),
      ...differing(slotHolders, this.slotHolders).map((id) => `${id} has a slot, or has not`),
    ];
  }
}

function differing<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): T[] {
  return [...[...a].filter((each) => !b.has(each)), ...[...b].filter((each) => !a.has(each))];
}

class Storm {
  readonly slots = new SlotBook();
  readonly #targets: readonly Target[];
  readonly partition = new MemoryPartition();
  readonly #random: SeededRandom;
  /** Messages between invocations, delivered in order and sometimes twice. */
  readonly #sent: PartitionCommand[] = [];
  #restarts = 0;

  constructor(seed: number, targets: readonly Target[] = TARGETS) {
    this.#random = new SeededRandom(seed);
    this.#targets = targets;
  }

  /** The violated invariants; messages that are not delivered yet are part of the snapshot. */
  broken(): readonly string[] {
    return brokenInvariants({ ...this.partition.snapshot(), pendingCommands: this.#sent });
  }

  step(): PartitionCommand {
    this.partition.nowMs += this.#random.below(400);
    const deliver = this.#sent.length > 0 && this.#random.chance(0.4);
    const command = deliver ? (this.#sent.shift() as PartitionCommand) : this.#draw();
    const { sent, effects } = this.partition.play(command);
    for (const effect of effects) this.slots.record(effect);
    this.#sent.push(...sent);
    return command;
  }

  #draw(): PartitionCommand {
    if (this.#targets === SCOPED_TARGETS && this.#random.chance(0.25)) return this.#flow();
    const id = anId(this.#random.below(IDS));
    const invocation = this.partition.invocation(id);
    if (invocation === undefined || this.#random.chance(0.05)) return this.#invoke(id);
    switch (this.#random.below(10)) {
      case 0:
        return this.#controlCommand(id);
      case 1:
        return this.#fire() ?? this.#controlCommand(id);
      case 2:
        return { kind: "signal", id, signal: { kind: "signalIndex", index: this.#random.pick([1, 17]) }, result: voidResult };
      default:
        return this.#attempt(id, invocation);
    }
  }

  /** A rule is added or removed, a slot is given, a queue is paused or resumed. */
  #flow(): PartitionCommand {
    if (this.#random.chance(0.3)) {
      if (this.partition.gates.has("s1")) this.partition.gates.clear();
      else this.partition.gates.add("s1");
    }
    const queue = this.#random.pick(QUEUES);
    const kind = this.#random.pick(["admit", "admit", "admit", "pauseQueue", "resumeQueue", "resumeQueue"] as const);
    if (kind === "admit") return { kind, id: anId(this.#random.below(IDS)), buckets: [{ name: "s1", bookedUntilMicros: 1 }] };
    return { kind, id: routeOfQueue(queue), queue };
  }

  #invoke(id: InvocationId): PartitionCommand {
    // The target of an id never changes, as ids are made of it.
    const target = this.#targets[Number(anIdNumber(id)) % this.#targets.length] as Target;
    const executionTimeMs = this.#random.chance(0.2) ? this.partition.nowMs + 500 : undefined;
    const completionRetentionMs = this.#random.pick([0, 1_000, 3_000]);
    const journalRetentionMs = this.#random.pick([0, 500, 3_000]);
    const facts = someFacts({
      id,
      target,
      idempotencyKey: "k",
      createdAtMs: this.partition.nowMs,
      executionTimeMs,
      completionRetentionMs,
      journalRetentionMs,
    });
    return invokeOf(facts);
  }

  #controlCommand(id: InvocationId): PartitionCommand {
    const kind = this.#random.pick(["cancel", "kill", "pause", "resume", "purge", "purgeJournal", "restart", "edit"] as const);
    if (kind === "resume") return { kind, id, moveTo: undefined };
    if (kind === "restart") {
      const newId = siblingInvocationId(id, ++this.#restarts, this.#random);
      return { kind: "restartAsNew", id, newId, from: this.#random.below(5), moveTo: undefined, keepDeployment: true };
    }
    if (kind === "edit") {
      const entries = [{ key: "x", value: utf8("1") }];
      return { kind: "mutateState", id, service: "O", key: "a", exclusive: true, expectedVersion: undefined, entries };
    }
    return { kind, id };
  }

  /** A timer that is due, or one that is not stored. */
  #fire(): PartitionCommand | undefined {
    const timers = [...this.partition.timers.values()];
    if (timers.length === 0) return undefined;
    const timer = this.#random.pick(timers);
    if (this.#random.chance(0.1)) return { kind: "timerFired", id: timer.id, timer: { ...timer, dueAtMs: timer.dueAtMs + 1 } };
    this.partition.nowMs = Math.max(this.partition.nowMs, timer.dueAtMs);
    return { kind: "timerFired", id: timer.id, timer };
  }

  #attempt(id: InvocationId, { run, journal, facts }: Invocation): PartitionCommand {
    const now = this.#random.chance(0.9) ? run : run - 1;
    const other = anId(this.#random.below(IDS));
    // Completion ids are chosen by the SDK; each command has its own, and each attempt continues where the journal ends.
    const next = journal.length * 2 + 1;
    const awaited = 1 + this.#random.below(journal.length * 2 + 2);
    const isWorkflow = facts.target.serviceType === "workflow";
    const writes = facts.target.key !== undefined && facts.target.handlerType !== "shared";
    const actions: (() => PartitionCommand)[] = [
      () => pinOf(id, now),
      () => sleepOf(id, now, next, this.partition.nowMs + this.#random.below(2_000)),
      () => runOf(id, now, next),
      () =>
        callOf(
          id,
          now,
          someFacts({
            id: other,
            idempotencyKey: "k",
            target: this.#targets[Number(anIdNumber(other)) % this.#targets.length] as Target,
          }),
          next,
          next + 1,
        ),
      () => sendSignalOf(id, now, other, { kind: "signalIndex", index: this.#random.pick([1, 18]) }, voidResult),
      () => attachOf(id, now, other, next, this.#random.pick(["attach", "getOutput"])),
      () =>
        suspendOf(id, now, [awaited], {
          receivedNotificationCount: journal.notifications,
          satisfied: false,
          awaiting: this.#fresh(id, awaited),
        }),
      () => failOf(id, now, this.#random.pick(["retry", "retry", "pause", "kill"])),
      () => outputOf(id, now, "out"),
    ];
    if (journal.outputIndex >= 0)
      actions.push(
        () => endOf(id, now),
        () => endOf(id, now),
      );
    if (isWorkflow) {
      actions.push(
        () => getPromiseOf(id, now, "p", next),
        () => peekPromiseOf(id, now, "p", next),
        () => completePromiseOf(id, now, this.#random.pick(["p", "q"]), next, { kind: "value", value: utf8("v") }),
      );
    }
    if (writes) actions.push(() => setStateOf(id, now, this.#random.pick(["x", "y"]), "v"));
    const openRun = this.#openRun(id, journal.length);
    if (openRun !== undefined) actions.push(() => proposeOf(id, now, openRun, { kind: "value", value: utf8("v") }));
    return this.#random.pick(actions)();
  }

  /** A wait for a notification that the attempt, which has the whole journal, has not received yet. */
  #fresh(id: InvocationId, awaited: number): ReturnType<typeof tree> {
    const notificationIds = new Set<number>();
    const { length = 0 } = this.partition.invocation(id)?.journal ?? {};
    for (let index = 0; index < length; index++) {
      const entry = this.partition.entry(id, index);
      if (entry !== undefined && !isCommand(entry.type) && entry.body[0] === 8) notificationIds.add(entry.body[1] as number);
    }
    let free = awaited;
    while (notificationIds.has(free)) free++;
    return tree("firstCompleted", [free]);
  }

  #openRun(id: InvocationId, length: number): number | undefined {
    const last = this.partition.entry(id, length - 1);
    return last?.type === 0x0411 ? last.body[1] : undefined;
  }
}

/** The number that `anId` was given. */
function anIdNumber(id: InvocationId): number {
  for (let n = 0; n < IDS; n++) if (anId(n) === id) return n;
  return 0;
}

describe("any interleaving of commands", () => {
  test(`keeps every invariant, command by command, in ${SEEDS} partitions`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const storm = new Storm(seed);
      for (let n = 0; n < COMMANDS; n++) {
        const command = storm.step();
        const broken = storm.broken();
        expect({ seed, n, command: command.kind, broken }).toEqual({ seed, n, command: command.kind, broken: [] });
      }
    }
  });

  test("holds where a promise is deleted while its completion is on its way to a handler that waits for it", () => {
    for (const targets of [TARGETS, SCOPED_TARGETS]) {
      const storm = new Storm(228, targets);
      for (let n = 0; n < 2 * COMMANDS; n++) {
        storm.step();
        expect(storm.broken()).toEqual([]);
      }
    }
  });

  test("gives the scheduler exactly the waiting and running invocations of a scope", () => {
    let gated = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const storm = new Storm(seed, SCOPED_TARGETS);
      for (let n = 0; n < COMMANDS; n++) {
        const command = storm.step();
        const broken = [...storm.broken(), ...storm.slots.wrong(storm.partition.invocations.values())];
        expect({ seed, n, command: command.kind, broken }).toEqual({ seed, n, command: command.kind, broken: [] });
        gated += storm.slots.waiting.size;
      }
    }
    expect(gated).toBeGreaterThan(SEEDS);
  });
});
