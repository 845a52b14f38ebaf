/**
 * A partition in memory for tests of the invoker: it stores what attempts submit, responds as the real one does in the common cases, and
 * records everything. Batches become "durable" when the given `later` runs them; nothing else is asynchronous.
 */
import { type Clock, type InvocationId, toBinaryString } from "@perdure/base";
import {
  encodeCompletion,
  encodeInput,
  encodeNotification,
  evaluateFuture,
  type Future,
  type Header,
  isCommand,
  isNotification,
  MessageType,
  type NotificationResult,
  notificationIdOf,
  notificationOutcomeOf,
  outputResultOf,
  type SignalId,
  type ValueOrFailure,
  voidResult,
} from "@perdure/service-protocol";
import type {
  AppendCommand,
  AttemptCommand,
  AttemptFailed,
  EntryStored,
  InvocationFacts,
  Invoked,
  JournalEntry,
  Pinned,
} from "@perdure/state-machine";
import type { Invoker, InvokerHost } from "../ports.js";

export type FakeStatus = "invoked" | "suspended" | "paused" | "completed";

export interface FakeInvocation {
  readonly facts: InvocationFacts;
  readonly entries: JournalEntry[];
  readonly state: Map<string, Uint8Array>;
  readonly failures: AttemptFailed[];
  readonly commands: AttemptCommand[];
  status: FakeStatus;
  run: number;
  pinned: Pinned | undefined;
  awaiting: Future | undefined;
  pauseRequested: boolean;
  modifiedAtMs: number;
  result: ValueOrFailure | undefined;
}

export interface FakePartitionOptions {
  readonly clock: Clock;
  /** Runs a callback once the present batch would be durable; setImmediate by default. */
  readonly later?: (callback: () => void) => void;
}

export class FakePartition implements InvokerHost {
  readonly invocations = new Map<InvocationId, FakeInvocation>();
  /** User state by service and key. */
  readonly #states = new Map<string, Map<string, Uint8Array>>();
  readonly #clock: Clock;
  readonly #later: (callback: () => void) => void;
  #invoker: Invoker | undefined;
  #batch: (() => void)[] = [];
  readonly #watchers: (() => void)[] = [];
  /** Replace to make storage slow or broken. */
  readJournal: InvokerHost["readJournal"] = async (id, length) => this.get(id).entries.slice(0, length);
  /** Set to stage large bodies. */
  stage: InvokerHost["stage"];
  readState: InvokerHost["readState"] = async (_id, service, key) => this.#stateOf(service, key);

  constructor({ clock, later = setImmediate }: FakePartitionOptions) {
    this.#clock = clock;
    this.#later = later;
  }

  attach(invoker: Invoker): void {
    this.#invoker = invoker;
  }

  get(id: InvocationId): FakeInvocation {
    const invocation = this.invocations.get(id);
    if (invocation === undefined) throw new Error(`no invocation ${id}`);
    return invocation;
  }

  /** A new invocation, handed to the invoker at once. */
  invoke(facts: InvocationFacts, argument: Uint8Array, headers: readonly Header[] = []): FakeInvocation {
    const input: JournalEntry = {
      type: MessageType.Input,
      body: encodeInput(headers, argument),
      appendedAtMs: this.#clock.nowMs(),
    };
    const invocation: FakeInvocation = {
      facts,
      entries: [input],
      state: this.#stateOf(facts.target.service, facts.target.key ?? ""),
      failures: [],
      commands: [],
      status: "invoked",
      run: 0,
      pinned: undefined,
      awaiting: undefined,
      pauseRequested: false,
      modifiedAtMs: this.#clock.nowMs(),
      result: undefined,
    };
    this.invocations.set(facts.id, invocation);
    this.start(invocation, true);
    return invocation;
  }

  /** Hands it to the invoker under a new run number. */
  start(invocation: FakeInvocation, first = false): void {
    invocation.run++;
    invocation.status = "invoked";
    invocation.modifiedAtMs = this.#clock.nowMs();
    this.#invoker?.startRun({
      kind: "startRun",
      invocation: this.#asInvoked(invocation),
      firstEntries: first ? [...invocation.entries] : undefined,
    });
  }

  submit(command: AttemptCommand): void {
    const invocation = this.get(command.id);
    invocation.commands.push(command);
    this.#queue(() => this.#apply(invocation, command));
  }

  whenDurable(callback: () => void): void {
    this.#queue(callback);
  }

  /** A notification from outside: a timer, a callee, a signal. */
  notify(id: InvocationId, type: number, body: Uint8Array): void {
    this.#queue(() =>
      this.#appendNotification(
        this.get(id),
        { type, body, appendedAtMs: this.#clock.nowMs() },
        { kind: "push", thenAck: undefined },
      ),
    );
  }

  complete(id: InvocationId, type: number, completionId: number, result: NotificationResult): void {
    this.notify(id, type, encodeCompletion(completionId, result));
  }

  signal(id: InvocationId, signal: SignalId, result: NotificationResult): void {
    this.notify(id, MessageType.Signal, encodeNotification(signal, result));
  }

  kill(id: InvocationId): void {
    this.#queue(() => this.#stop(this.get(id), "completed", "killed"));
  }

  pause(id: InvocationId): void {
    this.#queue(() => {
      const invocation = this.get(id);
      invocation.pauseRequested = true;
      this.#invoker?.requestPause({ kind: "requestPause", id, run: invocation.run });
    });
  }

  retryNow(id: InvocationId): void {
    this.#queue(() => this.#invoker?.retryNow({ kind: "retryNow", id, run: this.get(id).run }));
  }

  /** Resolves once `condition` holds after a batch. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** Resolves with the last Output of an invocation that has ended. */
  async result(id: InvocationId): Promise<ValueOrFailure> {
    await this.until(() => this.get(id).status === "completed");
    const { result } = this.get(id);
    if (result === undefined) throw new Error("it was killed");
    return result;
  }

  #queue(work: () => void): void {
    if (this.#batch.push(work) > 1) return;
    this.#later(() => {
      const batch = this.#batch;
      this.#batch = [];
      for (const each of batch) each();
      for (const wake of this.#watchers.splice(0)) wake();
    });
  }

  #apply(invocation: FakeInvocation, command: AttemptCommand): void {
    if (command.run !== invocation.run || invocation.status !== "invoked") return;
    switch (command.kind) {
      case "pin":
        invocation.pinned = command.pinned;
        return;
      case "slotWaited":
        return;
      case "appendCommand":
        return this.#appendCommand(invocation, command);
      case "proposeRun": {
        const entry = { type: MessageType.RunCompletion, body: command.body, appendedAtMs: this.#clock.nowMs() };
        const delivery = command.ackOnly
          ? ({ kind: "ackRun", completionId: command.completionId } as const)
          : ({ kind: "push", thenAck: undefined } as const);
        return this.#appendNotification(invocation, entry, delivery);
      }
      case "suspend":
        return this.#suspend(invocation, command.awaiting, command.satisfied, command.receivedNotificationCount);
      case "end": {
        const output = invocation.entries.findLast((entry) => entry.type === MessageType.Output);
        invocation.result = output === undefined ? undefined : outputResultOf(output.body);
        return this.#stop(invocation, "completed", "ended");
      }
      case "attemptFailed":
        invocation.failures.push(command);
        if (command.then === "kill") return this.#stop(invocation, "completed", "killed");
        if (command.then === "pause" || invocation.pauseRequested) this.#stop(invocation, "paused", "paused");
        return;
    }
  }

  #appendCommand(invocation: FakeInvocation, command: AppendCommand): void {
    const { action, ackRequested } = command;
    const commandIndex = invocation.entries.filter((entry) => isCommand(entry.type)).length;
    const id = invocation.facts.id;
    const completesAtOnce =
      action.kind === "getLazyState" ||
      action.kind === "getLazyStateKeys" ||
      action.kind === "call" ||
      action.kind === "oneWayCall";
    const delivery: EntryStored["delivery"] =
      ackRequested && !completesAtOnce ? { kind: "ackCommand", commandIndex } : { kind: "nothing" };
    this.#append(invocation, { type: command.type, body: command.body, appendedAtMs: this.#clock.nowMs() }, delivery);
    const thenAck = ackRequested ? commandIndex : undefined;
    const completeNow = (type: number, completionId: number, result: NotificationResult) =>
      this.#appendNotification(
        invocation,
        { type, body: encodeCompletion(completionId, result), appendedAtMs: this.#clock.nowMs() },
        { kind: "push", thenAck },
      );
    switch (action.kind) {
      case "setState":
        invocation.state.set(action.key, action.value);
        return;
      case "clearState":
        invocation.state.delete(action.key);
        return;
      case "clearAllState":
        invocation.state.clear();
        return;
      case "getLazyState": {
        const value = invocation.state.get(action.key);
        return completeNow(
          MessageType.GetLazyStateCompletion,
          action.completionId,
          value === undefined ? voidResult : { kind: "value", value },
        );
      }
      case "getLazyStateKeys": {
        const stateKeys = [...invocation.state.keys()].map((key) => Buffer.from(key, "latin1"));
        return completeNow(MessageType.GetLazyStateKeysCompletion, action.completionId, { kind: "stateKeys", stateKeys });
      }
      case "sleep":
        this.#clock.setTimer(action.wakeUpAtMs - this.#clock.nowMs(), () =>
          this.complete(id, MessageType.SleepCompletion, action.completionId, voidResult),
        );
        return;
      case "call":
      case "oneWayCall":
        return completeNow(MessageType.CallInvocationIdCompletion, action.invocationIdCompletionId, {
          kind: "invocationId",
          invocationId: action.callee.facts.id,
        });
      default:
        return; // The test decides what comes of it.
    }
  }

  #append(invocation: FakeInvocation, entry: JournalEntry, delivery: EntryStored["delivery"]): void {
    const index = invocation.entries.push(entry) - 1;
    invocation.modifiedAtMs = entry.appendedAtMs;
    if (invocation.status !== "invoked") return;
    this.#invoker?.entryStored({ kind: "entryStored", id: invocation.facts.id, run: invocation.run, index, entry, delivery });
  }

  #appendNotification(invocation: FakeInvocation, entry: JournalEntry, delivery: EntryStored["delivery"]): void {
    if (invocation.status === "completed") return;
    this.#append(invocation, entry, delivery);
    if (invocation.status === "suspended" && invocation.awaiting !== undefined) {
      if (evaluateFuture(invocation.awaiting, lookupIn(invocation.entries)).kind === "resolved") this.start(invocation);
    }
  }

  #suspend(invocation: FakeInvocation, awaiting: Future, satisfied: boolean, receivedNotificationCount: number): void {
    const { id } = invocation.facts;
    const { run } = invocation;
    if (invocation.pauseRequested) return this.#stop(invocation, "paused", "paused");
    this.#invoker?.stopRun({ kind: "stopRun", id, run, reason: "suspended" });
    const notificationCount = invocation.entries.filter((entry) => isNotification(entry.type)).length;
    const resolved =
      satisfied ||
      (notificationCount > receivedNotificationCount &&
        evaluateFuture(awaiting, lookupIn(invocation.entries)).kind === "resolved");
    if (resolved) return this.start(invocation);
    invocation.status = "suspended";
    invocation.awaiting = awaiting;
  }

  #stop(invocation: FakeInvocation, status: FakeStatus, reason: "ended" | "paused" | "killed"): void {
    invocation.status = status;
    this.#invoker?.stopRun({ kind: "stopRun", id: invocation.facts.id, run: invocation.run, reason });
  }

  #stateOf(service: string, key: string): Map<string, Uint8Array> {
    const owner = `${service}/${key}`;
    let state = this.#states.get(owner);
    if (state === undefined) {
      state = new Map();
      this.#states.set(owner, state);
    }
    return state;
  }

  #asInvoked(invocation: FakeInvocation): Invoked {
    let commands = 0;
    let outputIndex = -1;
    invocation.entries.forEach((entry, index) => {
      if (isCommand(entry.type)) commands++;
      if (entry.type === MessageType.Output) outputIndex = index;
    });
    const { length } = invocation.entries;
    return {
      status: "invoked",
      facts: invocation.facts,
      modifiedAtMs: invocation.modifiedAtMs,
      run: invocation.run,
      pinned: invocation.pinned,
      journal: { length, commands, notifications: length - commands, outputIndex, hasEvents: invocation.failures.length > 0 },
      sinks: [],
      milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs: undefined },
      pauseRequested: invocation.pauseRequested,
    };
  }
}

function lookupIn(entries: readonly JournalEntry[]): Parameters<typeof evaluateFuture>[1] {
  return (leaf) => {
    for (const entry of entries) {
      if (!isNotification(entry.type)) continue;
      if (JSON.stringify(notificationIdOf(entry.type, entry.body)) === JSON.stringify(leaf))
        return notificationOutcomeOf(entry.body);
    }
    return undefined;
  };
}

/** Storage form of a state key. */
export function stateKey(text: string): string {
  return toBinaryString(Buffer.from(text, "utf8"));
}
