/**
 * What surrounds a handler in a sandbox: the other services, the state of its key, timers and signals. Everything is answered from the
 * journal of the source, from stubs, or from memory; no message leaves.
 */
import { bytesEqual, type Clock, newInvocationId, type Random, toBinaryString } from "@perdure/base";
import {
  type CallCommand,
  decodeCommand,
  decodeNotification,
  encodeCompletion,
  isCommand,
  isFault,
  type JournalCommand,
  MessageType,
  type NotificationResult,
  type OneWayCallCommand,
  type SignalId,
  type ValueOrFailure,
  voidResult,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";

/** The result of every call of a handler. */
export interface SandboxStub {
  readonly service: string;
  readonly handler: string;
  readonly result: ValueOrFailure;
}

/** A message that the handler would have sent. `answeredBy` is the origin of the result of a call. */
export interface UnsentMessage {
  readonly kind: "call" | "send" | "signal" | "awakeable";
  /** `service/handler`, `service/key/handler`, or the id of an invocation or awakeable. */
  readonly target: string;
  readonly answeredBy: "journal" | "stub" | undefined;
}

interface StoredStep {
  readonly command: JournalCommand;
  readonly result: NotificationResult | undefined;
  isUsed: boolean;
}

/** `completions` are stored behind the command; `gap` names a command for which there is no answer. */
export type SandboxAnswer = { readonly completions: readonly JournalEntry[] } | { readonly gap: string };

export interface SandboxWorldDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly stubs: readonly SandboxStub[];
  readonly keepSleeps: boolean;
}

export class SandboxWorld {
  /** State of the key by key, as binary strings; the handler's writes stay here. */
  readonly state: Map<string, Uint8Array>;
  readonly unsent: UnsentMessage[] = [];
  readonly #deps: SandboxWorldDeps;
  readonly #steps: readonly StoredStep[];
  readonly #signals = new Map<string, JournalEntry>();
  /** Sleeps that have not ended, by completion id; only where sleeps are kept. */
  readonly #sleeps = new Map<number, number>();

  /** `source` is the whole journal of the source, `kept` the beginning that the fork has; `state` is that of the key now. */
  constructor(
    deps: SandboxWorldDeps,
    source: readonly JournalEntry[],
    kept: readonly JournalEntry[],
    state: ReadonlyMap<string, Uint8Array>,
  ) {
    this.#deps = deps;
    this.#steps = stepsOf(source);
    for (const entry of source) {
      const notification = isCommand(entry.type) ? undefined : decodeNotification(entry.type, entry.body);
      if (notification === undefined || isFault(notification) || notification.id.kind === "completion") continue;
      this.#signals.set(signalKey(notification.id), entry);
    }
    this.state = stateBefore(this.#steps, state);
    for (const [index, { command }] of stepsOf(kept).entries()) {
      const step = this.#steps[index];
      if (step !== undefined) step.isUsed = true;
      this.#write(command);
    }
  }

  answer(command: JournalCommand): SandboxAnswer {
    this.#write(command);
    switch (command.kind) {
      case "call":
        return this.#call(command);
      case "oneWayCall":
        this.unsent.push({ kind: "send", target: targetOf(command), answeredBy: undefined });
        return { completions: [this.#idOf(command)] };
      case "sendSignal":
        this.unsent.push({ kind: "signal", target: command.targetInvocationId, answeredBy: undefined });
        return NOTHING;
      case "completeAwakeable":
        this.unsent.push({ kind: "awakeable", target: command.awakeableId, answeredBy: undefined });
        return NOTHING;
      case "sleep":
        if (!this.#deps.keepSleeps) return this.#completed(command.resultCompletionId, MessageType.SleepCompletion, voidResult);
        this.#sleeps.set(command.resultCompletionId, Number(command.wakeUpTimeMs));
        return NOTHING;
      case "getLazyState": {
        const value = this.state.get(toBinaryString(command.stateKey));
        const result = value === undefined ? voidResult : ({ kind: "value", value } as const);
        return this.#completed(command.resultCompletionId, MessageType.GetLazyStateCompletion, result);
      }
      case "getLazyStateKeys": {
        const stateKeys = [...this.state.keys()].map((key) => Uint8Array.from(Buffer.from(key, "latin1")));
        const result = { kind: "stateKeys", stateKeys } as const;
        return this.#completed(command.resultCompletionId, MessageType.GetLazyStateKeysCompletion, result);
      }
      case "getPromise":
      case "peekPromise":
      case "completePromise":
      case "attachInvocation":
      case "getInvocationOutput":
        return this.#fromJournal(command);
      default:
        return NOTHING;
    }
  }

  /** The signal of the source, such as the result of an awakeable; undefined when it got none. */
  signal(id: SignalId): JournalEntry | undefined {
    return this.#signals.get(signalKey(id));
  }

  /** The time of the next sleep that ends; undefined when there is none. */
  get nextWakeUpMs(): number | undefined {
    return this.#sleeps.size === 0 ? undefined : Math.min(...this.#sleeps.values());
  }

  /** Completions of the sleeps that have ended. */
  ended(): readonly JournalEntry[] {
    const nowMs = this.#deps.clock.nowMs();
    const ids = [...this.#sleeps].filter(([, wakeUpMs]) => wakeUpMs <= nowMs).map(([id]) => id);
    for (const id of ids) this.#sleeps.delete(id);
    return ids.map((id) => this.#entry(MessageType.SleepCompletion, id, voidResult));
  }

  #call(command: CallCommand): SandboxAnswer {
    const target = targetOf(command);
    const stub = this.#deps.stubs.find(
      ({ service, handler }) => service === command.serviceName && handler === command.handlerName,
    );
    const result =
      stub?.result ?? this.#take((step) => isSameCall(step, command)) ?? this.#take((step) => isSameTarget(step, command));
    if (result === undefined) return { gap: `call of ${target}` };
    this.unsent.push({ kind: "call", target, answeredBy: stub === undefined ? "journal" : "stub" });
    return { completions: [this.#idOf(command), this.#entry(MessageType.CallCompletion, command.resultCompletionId, result)] };
  }

  /** Commands that read or complete what belongs to others. */
  #fromJournal(command: Extract<JournalCommand, { resultCompletionId: number }>): SandboxAnswer {
    const result = this.#take((step) => step.kind === command.kind && identityOf(step) === identityOf(command));
    if (result !== undefined) return this.#completed(command.resultCompletionId, COMPLETION_TYPES | typeOf(command.kind), result);
    return { gap: `${command.kind} of ${identityOf(command)}` };
  }

  /** The result of the first step of the source that fits and was not used before. */
  #take(fits: (command: JournalCommand) => boolean): NotificationResult | undefined {
    const step = this.#steps.find((each) => !each.isUsed && each.result !== undefined && fits(each.command));
    if (step === undefined) return undefined;
    step.isUsed = true;
    return step.result;
  }

  #write(command: JournalCommand): void {
    if (command.kind === "setState") this.state.set(toBinaryString(command.stateKey), command.value);
    else if (command.kind === "clearState") this.state.delete(toBinaryString(command.stateKey));
    else if (command.kind === "clearAllState") this.state.clear();
  }

  /** The callee does not exist; its id is one that no invocation has. */
  #idOf(command: CallCommand | OneWayCallCommand): JournalEntry {
    const target = {
      service: command.serviceName,
      key: command.key === "" ? undefined : command.key,
      handler: command.handlerName,
    };
    const invocationId = newInvocationId(target, this.#deps.clock.nowMs(), this.#deps.random);
    return this.#entry(MessageType.CallInvocationIdCompletion, command.invocationIdNotificationIdx, {
      kind: "invocationId",
      invocationId,
    });
  }

  #completed(id: number, type: number, result: NotificationResult): SandboxAnswer {
    return { completions: [this.#entry(type, id, result)] };
  }

  #entry(type: number, id: number, result: NotificationResult): JournalEntry {
    return { type, body: encodeCompletion(id, result), appendedAtMs: this.#deps.clock.nowMs() };
  }
}

const NOTHING: SandboxAnswer = { completions: [] };
const COMPLETION_TYPES = 0x8000;

function typeOf(kind: JournalCommand["kind"]): number {
  switch (kind) {
    case "getPromise":
      return MessageType.GetPromise & 0xff;
    case "peekPromise":
      return MessageType.PeekPromise & 0xff;
    case "completePromise":
      return MessageType.CompletePromise & 0xff;
    case "attachInvocation":
      return MessageType.AttachInvocation & 0xff;
    default:
      return MessageType.GetInvocationOutput & 0xff;
  }
}

function stepsOf(entries: readonly JournalEntry[]): readonly StoredStep[] {
  const results = new Map<number, NotificationResult>();
  for (const { type, body } of entries) {
    const notification = isCommand(type) ? undefined : decodeNotification(type, body);
    if (notification === undefined || isFault(notification) || notification.id.kind !== "completion") continue;
    results.set(notification.id.id, notification.result);
  }
  const steps: StoredStep[] = [];
  for (const { type, body } of entries) {
    const command = isCommand(type) ? decodeCommand(type, body) : undefined;
    if (command === undefined || isFault(command)) continue;
    const result = "resultCompletionId" in command ? results.get(command.resultCompletionId) : undefined;
    steps.push({ command, result, isUsed: false });
  }
  return steps;
}

/** The state when the source began: that of now, except for what the source read before it wrote it. */
function stateBefore(steps: readonly StoredStep[], now: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  const state = new Map(now);
  const decided = new Set<string>();
  for (const { command, result } of steps) {
    if (command.kind === "clearAllState") break; // What is read afterwards is its own.
    if (command.kind === "setState" || command.kind === "clearState") decided.add(toBinaryString(command.stateKey));
    if (command.kind !== "getEagerState" && command.kind !== "getLazyState") continue;
    const key = toBinaryString(command.stateKey);
    const read = command.kind === "getEagerState" ? command.result : result;
    if (decided.has(key) || read === undefined) continue;
    decided.add(key);
    if (read.kind === "value") state.set(key, read.value);
    else state.delete(key);
  }
  return state;
}

function isSameTarget(step: JournalCommand, call: CallCommand): boolean {
  return step.kind === "call" && step.serviceName === call.serviceName && step.handlerName === call.handlerName;
}

function isSameCall(step: JournalCommand, call: CallCommand): boolean {
  return isSameTarget(step, call) && step.kind === "call" && step.key === call.key && bytesEqual(step.parameter, call.parameter);
}

function identityOf(command: JournalCommand): string {
  if ("target" in command) return JSON.stringify(command.target);
  return "key" in command ? command.key : "";
}

function targetOf({ serviceName, key, handlerName }: CallCommand | OneWayCallCommand): string {
  return key === "" ? `${serviceName}/${handlerName}` : `${serviceName}/${key}/${handlerName}`;
}

function signalKey(id: SignalId): string {
  return id.kind === "signalIndex" ? `#${id.index}` : id.name;
}
