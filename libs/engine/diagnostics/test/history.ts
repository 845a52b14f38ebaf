/**
 * Random histories with a record of the truth. A timeline is derived from stored data, so its check needs what really happened: this runs
 * random invocations through the real core, together with an invoker's part, and records every state with its time.
 */

import { voidResult } from "@perdure/service-protocol";
import {
  EVENT_SLOTS,
  type Invocation,
  type InvocationFacts,
  type JournalEntry,
  type JournalEvent,
  type PartitionCommand,
  type TimerKey,
} from "@perdure/state-machine";
import {
  anId,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  plainTarget,
  proposeOf,
  runOf,
  setStateOf,
  sleepOf,
  someFacts,
  suspendOf,
} from "@perdure/state-machine/testing";
import type { SeededRandom } from "@perdure/testkit";
import type { InvocationPhase, InvocationSnapshot, InvokerView } from "../src/index.js";

const ID = anId(1);
const HOLDER = anId(2);

/** A stretch of the record; the last one is open. */
export interface Truth {
  readonly phase: InvocationPhase;
  readonly fromMs: number;
}

export class PlayedHistory {
  readonly partition = new MemoryPartition();
  readonly truth: Truth[] = [];
  readonly #random: SeededRandom;
  readonly #isKeyed: boolean;
  #held: InvokerView | undefined;
  #failures = 0;
  #completions = 0;
  /** Completion ids of steps without a result yet. */
  #openRuns: number[] = [];
  #openSleeps: number[] = [];
  #timers: TimerKey[] = [];

  readonly #slotsRunOut: boolean;

  /** @param slotsRunOut attempts may wait for a slot of their worker */
  constructor(random: SeededRandom, slotsRunOut = true) {
    this.#random = random;
    this.#slotsRunOut = slotsRunOut;
    this.#isKeyed = random.chance(0.4);
    this.partition.nowMs = 10_000;
    if (this.#isKeyed && random.chance(0.6))
      this.#play(invokeOf(someFacts({ id: HOLDER, target: objectTarget("k"), createdAtMs: 9_000 })));
    this.#pass(400);
    const isDelayed = random.chance(0.3);
    this.#play(
      invokeOf(
        someFacts({
          id: ID,
          target: this.#isKeyed ? objectTarget("k") : plainTarget,
          createdAtMs: this.partition.nowMs - random.below(20),
          executionTimeMs: isDelayed ? this.partition.nowMs + 1 + random.below(2_000) : undefined,
        }),
      ),
    );
    this.truth.unshift({ phase: isDelayed ? "delayed" : "queued", fromMs: this.facts.createdAtMs });
  }

  get invocation(): Invocation {
    return this.partition.invocation(ID) as Invocation;
  }

  get facts(): InvocationFacts {
    return this.invocation.facts;
  }

  /** Snapshot that a reader of the store and the invoker would get now. */
  get snapshot(): InvocationSnapshot {
    const { length } = this.invocation.journal;
    const entries = Array.from({ length }, (_, index) => this.partition.entry(ID, index) as JournalEntry);
    return { invocation: this.invocation, held: this.#held, entries, events: this.#events() };
  }

  /** Advances the time, and lets something happen. */
  step(): void {
    this.#pass(500);
    switch (this.invocation.status) {
      case "scheduled":
        return this.#fire("start");
      case "inboxed":
        return this.#play(endOfHolder());
      case "invoked":
        if (this.#isWaitingForSlot) return this.#wait();
        return this.#held?.inFlight === true ? this.#run() : this.#backOff();
      case "suspended":
        return this.#random.chance(0.7) ? this.#fire("sleep") : this.#play({ kind: "resume", id: ID, moveTo: undefined });
      case "paused":
        return this.#random.chance(0.5) ? this.#fire("sleep") : this.#play({ kind: "resume", id: ID, moveTo: undefined });
      default:
        return; // Completed: only time passes.
    }
  }

  get #isWaitingForSlot(): boolean {
    return this.#held?.slotWait !== undefined;
  }

  /** All slots of the worker are in use: the attempt begins later. */
  #queue(held: InvokerView): void {
    this.#held = { ...held, inFlight: false, slotWait: { sinceMs: this.partition.nowMs } };
    this.#note("queued", true);
  }

  #wait(): void {
    const { slotWait, ...held } = this.#held as InvokerView;
    if (this.#random.chance(0.3)) return this.#fire("sleep");
    if (slotWait === undefined || this.#random.chance(0.3)) return;
    const nowMs = this.partition.nowMs;
    this.#held = { ...held, inFlight: true, retryCount: held.retryCount + 1, lastStartAtMs: nowMs };
    this.#play({ kind: "slotWaited", id: ID, run: this.invocation.run, sinceMs: slotWait.sinceMs, untilMs: nowMs });
    this.#note("running", true);
  }

  #run(): void {
    const { run } = this.invocation;
    switch (this.#random.below(12)) {
      case 0:
      case 1:
        return this.#play(setStateOf(ID, run, "a", "b"));
      case 2:
      case 3: {
        const id = ++this.#completions;
        this.#openSleeps.push(id);
        return this.#play(sleepOf(ID, run, id, this.partition.nowMs + this.#random.below(3_000)));
      }
      case 4: {
        const id = ++this.#completions;
        this.#openRuns.push(id);
        return this.#play(runOf(ID, run, id));
      }
      case 5: {
        const id = this.#openRuns.shift();
        return id === undefined ? undefined : this.#play(proposeOf(ID, run, id, { kind: "value", value: new Uint8Array(3) }));
      }
      case 6:
        return this.#fail("retry");
      case 7:
        return this.#random.chance(0.3) ? this.#fail("pause") : undefined;
      case 8:
      case 9:
        if (this.#openSleeps.length === 0 || this.#openRuns.length > 0) return;
        return this.#play(
          suspendOf(ID, run, this.#openSleeps, { receivedNotificationCount: this.invocation.journal.notifications }),
        );
      case 10:
        if (this.#random.chance(0.85)) return this.#fire("sleep");
        this.#play(outputOf(ID, run, "done"));
        this.#pass(5);
        return this.#play(endOf(ID, run));
      default:
        return this.#random.chance(0.04) ? this.#play({ kind: "kill", id: ID }) : undefined;
    }
  }

  #backOff(): void {
    if (this.#random.chance(0.3)) return this.#fire("sleep");
    if (this.#random.chance(0.05))
      return this.#play({ kind: "signal", id: ID, signal: { kind: "signalName", name: "s" }, result: voidResult });
    if (this.#slotsRunOut && this.#random.chance(0.2)) {
      this.#openRuns = [];
      return this.#queue(this.#held as InvokerView);
    }
    this.#held = {
      ...(this.#held as InvokerView),
      inFlight: true,
      retryCount: (this.#held?.retryCount ?? 0) + 1,
      lastStartAtMs: this.partition.nowMs,
    };
    this.#openRuns = []; // The new attempt runs them again, under the same ids.
    this.#note("running");
    if (this.#random.chance(0.3)) this.#fail("retry");
  }

  #fail(then: "retry" | "pause"): void {
    this.#failures++;
    const { run } = this.invocation;
    if (then === "retry") this.#held = { ...(this.#held as InvokerView), inFlight: false };
    this.#play(failOf(ID, run, then, this.#failures));
  }

  #fire(kind: TimerKey["kind"]): void {
    const index = this.#timers.findIndex((timer) => timer.kind === kind && timer.dueAtMs <= this.partition.nowMs);
    const [timer] = index < 0 ? [] : this.#timers.splice(index, 1);
    if (timer === undefined) return;
    this.#openSleeps = this.#openSleeps.filter((id) => kind !== "sleep" || id !== timer.sequence);
    this.#play({ kind: "timerFired", id: ID, timer });
  }

  #play(command: PartitionCommand): void {
    const runBefore = this.partition.invocation(ID)?.run;
    const { effects } = this.partition.play(command);
    for (const effect of effects) if (effect.kind === "armTimer" && effect.timer.id === ID) this.#timers.push(effect.timer);
    const invocation = this.partition.invocation(ID);
    if (invocation === undefined) return;
    if (invocation.status === "invoked" && invocation.run !== runBefore) {
      this.#failures = 0;
      this.#held = {
        inFlight: true,
        retryCount: 1,
        lastStartAtMs: this.partition.nowMs,
        nextRetryAtMs: undefined,
        lastAttemptDeploymentId: undefined,
        lastFailure: undefined,
        lastAwaitingJson: undefined,
      };
      if (this.#slotsRunOut && this.#random.chance(0.15)) this.#queue({ ...this.#held, retryCount: 0, lastStartAtMs: undefined });
      else this.#note("running", true);
    } else if (invocation.status === "invoked") {
      if (!this.#isWaitingForSlot) this.#note(this.#held?.inFlight === true ? "running" : "backingOff");
    } else {
      this.#held = undefined;
      if (invocation.status === "inboxed") this.#note("queued");
      else if (invocation.status === "suspended" || invocation.status === "paused" || invocation.status === "completed")
        this.#note(invocation.status);
    }
  }

  #note(phase: InvocationPhase, anew = false): void {
    if (!anew && this.truth.at(-1)?.phase === phase) return;
    this.truth.push({ phase, fromMs: this.partition.nowMs });
  }

  #pass(ms: number): void {
    this.partition.nowMs += this.#random.below(ms);
  }

  #events(): JournalEvent[] {
    if (!this.invocation.journal.hasEvents) return [];
    return [...this.partition.events]
      .filter(([key]) => key.includes(ID))
      .map(([, event]) => event)
      .slice(0, EVENT_SLOTS + 1);
  }
}

function endOfHolder(): PartitionCommand {
  return { kind: "kill", id: HOLDER };
}
