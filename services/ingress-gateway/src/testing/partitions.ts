/** A partition without a store or an invoker: it records submitted commands and responds as the test sets. */
import type { InvocationId } from "@perdure/base";
import { PerdureError } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import {
  type CommandAnswer,
  EMPTY_PROGRESS,
  type Invocation,
  type Invoke,
  type Outcome,
  type PartitionCommand,
  type Throttled,
  type ThrottleKeysFull,
} from "@perdure/state-machine";

/** Outcome of an invocation, or that there is none yet. */
export type Script = (command: Invoke) => Outcome | "pending";

type AttachObserver = Parameters<Partitions["attach"]>[1];
interface Waiter {
  completed(completion: Completion): void;
}

export class ScriptedPartitions implements Partitions {
  /** Submitted invocations in order, resubmissions included. */
  readonly invoked: Invoke[] = [];
  readonly submitted: Exclude<PartitionCommand, Invoke>[] = [];
  readonly records = new Map<string, Invocation>();
  /** Observers without a final result yet, by invocation. */
  readonly waiting = new Map<string, Set<Waiter>>();
  detachCount = 0;
  /** Reason for which every request is unavailable while it is set. */
  down: string | undefined = undefined;
  /** What every command with a throttle is refused with while it is set. */
  throttled: Throttled | ThrottleKeysFull | undefined = undefined;
  readonly #script: Script;
  readonly #nowMs: () => number;

  constructor(script: Script, nowMs: () => number) {
    this.#script = script;
    this.#nowMs = nowMs;
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach {
    this.invoked.push(command);
    if (this.down !== undefined) {
      observer.unavailable(this.down);
      return NOTHING;
    }
    if (this.throttled !== undefined && command.throttle !== undefined) {
      observer.throttled?.(this.throttled);
      return NOTHING;
    }
    const previous = this.records.get(command.id);
    const record = previous ?? this.#accept(command);
    observer.submitted(previous);
    return wait ? this.#await(record, observer, previous !== undefined) : NOTHING;
  }

  attach(id: InvocationId, observer: AttachObserver): Detach {
    if (this.down !== undefined) {
      observer.unavailable(this.down);
      return NOTHING;
    }
    const record = this.records.get(id);
    if (record === undefined) {
      observer.notFound();
      return NOTHING;
    }
    return this.#await(record, observer, true);
  }

  async output(id: InvocationId): ReturnType<Partitions["output"]> {
    this.#checkUp();
    const record = this.records.get(id);
    if (record === undefined) return { kind: "notFound" };
    return record.status === "completed" ? { kind: "completed", completion: completionOf(record, true) } : { kind: "pending" };
  }

  async describe(id: InvocationId): Promise<Invocation | undefined> {
    this.#checkUp();
    return this.records.get(id);
  }

  async submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    this.#checkUp();
    this.submitted.push(command);
    return { kind: "done" };
  }

  /** Completes a pending invocation and notifies its observers. */
  complete(id: string, outcome: Outcome): void {
    const record = this.records.get(id);
    if (record === undefined) throw new Error(`nothing was submitted as ${id}`);
    const completed = this.#completed(record, outcome);
    this.records.set(id, completed);
    const waiters = this.waiting.get(id) ?? [];
    this.waiting.delete(id);
    for (const waiter of waiters) waiter.completed(completionOf(completed, false));
  }

  #accept(command: Invoke): Invocation {
    const record: Invocation = {
      status: "invoked",
      pauseRequested: false,
      facts: command.facts,
      modifiedAtMs: command.facts.createdAtMs,
      run: 1,
      pinned: undefined,
      journal: EMPTY_PROGRESS,
      sinks: [],
      milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs: undefined },
    };
    const outcome = this.#script(command);
    const kept = outcome === "pending" ? record : this.#completed(record, outcome);
    this.records.set(command.id, kept);
    return kept;
  }

  #completed({ facts, modifiedAtMs, run, pinned, journal, sinks, milestones }: Invocation, outcome: Outcome): Invocation {
    return {
      status: "completed",
      outcome,
      facts,
      modifiedAtMs,
      run,
      pinned,
      journal,
      sinks,
      milestones: { ...milestones, completedAtMs: this.#nowMs() },
    };
  }

  #await(record: Invocation, observer: Waiter, stored: boolean): Detach {
    if (record.status === "completed") {
      observer.completed(completionOf(record, stored));
      return NOTHING;
    }
    const id = record.facts.id;
    const waiters = this.waiting.get(id) ?? new Set();
    waiters.add(observer);
    this.waiting.set(id, waiters);
    return {
      detach: () => {
        this.detachCount++;
        waiters.delete(observer);
        if (waiters.size === 0) this.waiting.delete(id);
      },
    };
  }

  #checkUp(): void {
    if (this.down !== undefined) throw new PerdureError("ING0006", this.down);
  }
}

const NOTHING: Detach = { detach() {} };

function completionOf(record: Invocation, stored: boolean): Completion {
  if (record.status !== "completed") throw new Error("it has not completed");
  const { completedAtMs } = record.milestones;
  return {
    outcome: record.outcome,
    expiresAtMs: stored && completedAtMs !== undefined ? completedAtMs + record.facts.completionRetentionMs : undefined,
  };
}
