/** Runs a program as a handler would: each operation is commands and waits, and nothing else decides how it goes on. */
import { awakeableId, fromUtf8, type InvocationId, utf8 } from "@perdure/base";
import {
  cancelSignalId,
  type Future,
  type JournalCommand,
  type NotificationId,
  type ValueOrFailure,
} from "@perdure/service-protocol";
import { Cancelled, type Conversation, type Heard } from "./conversation.js";
import { TELLING } from "./draw-program.js";
import type { LocalState } from "./local-state.js";
import type { Assignment, Callee, Operation, Program } from "./program.js";

/** What a program asks of the session that runs it. */
export type Ask =
  /** Go on when the future is resolved. `deaf`: also when asked to cancel. */
  | { readonly ask: "wait"; readonly future: Future; readonly deaf: boolean }
  /** Go on after this long: user code takes its time. */
  | { readonly ask: "work"; readonly ms: number };

export interface Surroundings {
  readonly id: InvocationId;
  readonly key: string;
  readonly conversation: Conversation;
  readonly state: LocalState;
  nowMs(): number;
  /** How long user code thinks before its next step; mostly not at all. */
  thinkingMs(): number;
  /** A number that no other execution of anything has: what makes a run's result its own. */
  executed(): number;
  /** Offers the result of a run that was executed just now. */
  propose(completionId: number, result: ValueOrFailure): void;
  /** Leaves an awakeable with somebody outside, who will complete it. */
  leaveOutside(awakeable: string): void;
}

type Script<T> = Generator<Ask, T, void>;

/** Something waited for later, by its name in the result. */
interface Pending {
  readonly name: string;
  readonly id: NotificationId;
}

interface Progress {
  readonly around: Surroundings;
  readonly assignment: Assignment;
  readonly pending: Pending[];
  /** Completion ids under which the ids of callees come. */
  readonly children: number[];
  /** Those among them that are called, not sent: they are cancelled together with their caller. */
  readonly called: number[];
  readonly observed: string[];
}

const CANCELLED: ValueOrFailure = { kind: "failure", failure: { code: 409, message: "Cancelled", metadata: [] } };

/** The handler: what it returns is the invocation's outcome. */
export function* interpret(around: Surroundings): Script<ValueOrFailure> {
  const assignment = JSON.parse(fromUtf8(around.conversation.input())) as Assignment;
  const progress: Progress = { around, assignment, pending: [], children: [], called: [], observed: [] };
  try {
    for (const [n, operation] of assignment.program.operations.entries()) {
      const ms = around.thinkingMs();
      if (ms > 0) yield { ask: "work", ms };
      yield* perform(progress, `${n}.${operation.op}`, operation);
      if (operation.op === "fail") return { kind: "failure", failure: { code: 512, message: "as programmed", metadata: [] } };
    }
    yield* join(progress, "settled");
  } catch (cause) {
    if (!(cause instanceof Cancelled)) throw cause;
    yield* passOn(progress);
    return CANCELLED;
  }
  return { kind: "value", value: utf8(progress.observed.join(" ")) };
}

/** A cancelled handler cancels whom it called. */
function* passOn({ around, called }: Progress): Script<void> {
  for (const child of called) {
    const id: NotificationId = { kind: "completion", id: child };
    yield { ask: "wait", future: one(id), deaf: true };
    around.conversation.command(signalTo(textOf(around.conversation.seen(id)), cancelSignalId, { kind: "void" }));
  }
}

function* perform(progress: Progress, name: string, operation: Operation): Script<void> {
  const { around, observed } = progress;
  const { conversation, state } = around;
  switch (operation.op) {
    case "run": {
      const completionId = conversation.nextCompletionId();
      yield* run(around, name, completionId, operation.ms, () => runResult(around, completionId, operation.fails));
      return yield* now(progress, name, { kind: "completion", id: completionId }, operation.later);
    }
    case "sleep": {
      const completionId = conversation.nextCompletionId();
      conversation.command(
        { kind: "sleep", wakeUpTimeMs: around.nowMs() + operation.ms, resultCompletionId: completionId, name },
        false,
      );
      return yield* now(progress, name, { kind: "completion", id: completionId }, operation.later);
    }
    case "call": {
      const result = call(
        progress,
        name,
        operation.to,
        { program: operation.program, tell: undefined },
        operation.idempotencyKey,
      );
      return yield* now(progress, name, result, operation.later);
    }
    case "send":
      return send(progress, name, operation.to, { program: operation.program, tell: undefined }, operation.delayMs);
    case "count": {
      const before = Number(textOfBytes(yield* state.get(operation.counter)) || "0");
      state.set(operation.counter, utf8(`${before + 1}`));
      observed.push(`${name}=${before}`);
      return;
    }
    case "get":
      observed.push(`${name}=${textOfBytes(yield* state.get(operation.key))}`);
      return;
    case "set":
      return state.set(operation.key, utf8(`${around.id.slice(-6)}/${name}`));
    case "clear":
      return state.clear(operation.key);
    case "clearAll":
      return state.clearAll();
    case "keys":
      observed.push(`${name}=${(yield* state.keys()).join(",")}`);
      return;
    case "awakeable": {
      const index = conversation.nextSignalIndex();
      const awakeable = awakeableId(around.id, index);
      if (operation.by === "callee") call(progress, name, CALLEE, { program: TELLING, tell: { awakeable } }, undefined);
      else yield* handOver(around, name, awakeable);
      return yield* now(progress, name, { kind: "signalIndex", index }, operation.later);
    }
    case "namedSignal": {
      const signal = `${operation.name}${name}`;
      call(progress, name, CALLEE, { program: TELLING, tell: { invocationId: around.id, signal } }, undefined);
      return yield* now(progress, name, { kind: "signalName", name: signal }, operation.later);
    }
    case "tellCaller":
      return tellCaller(progress, name);
    case "getPromise": {
      const helper: Program = { operations: [{ op: "completePromise", name: operation.name }] };
      const to: Callee = { service: "W", handler: "h", key: around.key };
      if (operation.helped) send(progress, name, to, { program: helper, tell: undefined }, 0);
      const completionId = conversation.nextCompletionId();
      conversation.command({ kind: "getPromise", key: operation.name, resultCompletionId: completionId, name });
      return yield* now(progress, name, { kind: "completion", id: completionId }, operation.later);
    }
    case "peekPromise": {
      const completionId = conversation.nextCompletionId();
      conversation.command({ kind: "peekPromise", key: operation.name, resultCompletionId: completionId, name });
      return yield* now(progress, name, { kind: "completion", id: completionId }, false);
    }
    case "completePromise": {
      const completionId = conversation.nextCompletionId();
      const completion: ValueOrFailure = { kind: "value", value: utf8(`${around.id}/${name}`) };
      conversation.command({ kind: "completePromise", key: operation.name, completion, resultCompletionId: completionId, name });
      return yield* now(progress, name, { kind: "completion", id: completionId }, false);
    }
    case "attach":
    case "output": {
      const child = yield* childId(progress, operation.child);
      if (child === undefined) return;
      const completionId = conversation.nextCompletionId();
      const kind = operation.op === "attach" ? "attachInvocation" : "getInvocationOutput";
      conversation.command({
        kind,
        target: { kind: "invocationId", invocationId: child },
        resultCompletionId: completionId,
        name,
      });
      return yield* now(progress, name, { kind: "completion", id: completionId }, operation.op === "attach" && operation.later);
    }
    case "cancelChild": {
      const child = yield* childId(progress, operation.child);
      if (child !== undefined) conversation.command(signalTo(child, cancelSignalId, { kind: "void" }));
      return;
    }
    case "join":
      return yield* join(progress, operation.how);
    case "fail":
      return;
  }
}

const CALLEE: Callee = { service: "S", handler: "h", key: "" };

// ── waiting ──────────────────────────────────────────────────────────────────────────────────────

/** Waits at once, or leaves it to a later join. */
function* now(progress: Progress, name: string, id: NotificationId, later: boolean): Script<void> {
  progress.pending.push({ name, id });
  if (later) return;
  yield { ask: "wait", future: one(id), deaf: false };
  collect(progress);
}

/** Waits for what was put off, in one of the ways SDKs know. */
function* join(progress: Progress, how: "all" | "first" | "settled" | "anySuccess" | "unknown"): Script<void> {
  if (progress.pending.length === 0) return;
  yield { ask: "wait", future: together(progress.pending, how), deaf: false };
  collect(progress);
}

/** Notes what has become visible, in the order in which it was asked for. */
function collect({ around, pending, observed }: Progress): void {
  const left: Pending[] = [];
  for (const each of pending) {
    const heard = around.conversation.seen(each.id);
    if (heard === undefined) left.push(each);
    else observed.push(`${each.name}=${textOf(heard)}`);
  }
  pending.splice(0, pending.length, ...left);
}

const COMBINATOR = {
  all: "allSucceededOrFirstFailed",
  first: "firstCompleted",
  settled: "allCompleted",
  anySuccess: "firstSucceededOrAllFailed",
  unknown: "unknown",
} as const;

/** The first half directly below the root and the rest in a nested node, so that trees have some depth. */
function together(pending: readonly Pending[], how: keyof typeof COMBINATOR): Future {
  const half = Math.ceil(pending.length / 2);
  const upper = node(pending.slice(0, half), COMBINATOR[how]);
  if (half === pending.length) return upper;
  return { ...upper, nested: [node(pending.slice(half), COMBINATOR[how])] };
}

function node(leaves: readonly Pending[], combinator: Future["combinator"]): Future {
  const completions: number[] = [];
  const signalIndexes: number[] = [];
  const signalNames: string[] = [];
  for (const { id } of leaves) {
    if (id.kind === "completion") completions.push(id.id);
    else if (id.kind === "signalIndex") signalIndexes.push(id.index);
    else signalNames.push(id.name);
  }
  return { completions, signalIndexes, signalNames, nested: [], combinator };
}

function one(id: NotificationId): Future {
  return node([{ name: "", id }], "firstCompleted");
}

// ── commands made of several parts ───────────────────────────────────────────────────────────────

/** Executes unless the result is there already, then offers the result. The caller waits for it. */
function* run(around: Surroundings, name: string, completionId: number, ms: number, execute: () => ValueOrFailure): Script<void> {
  around.conversation.command({ kind: "run", resultCompletionId: completionId, name });
  if (around.conversation.has(completionId)) return;
  yield { ask: "work", ms };
  if (!around.conversation.has(completionId)) around.propose(completionId, execute());
}

function runResult(around: Surroundings, completionId: number, fails: boolean): ValueOrFailure {
  const execution = `run ${completionId} executed as ${around.executed()}`;
  if (fails) return { kind: "failure", failure: { code: 500, message: execution, metadata: [] } };
  return { kind: "value", value: utf8(execution) };
}

/** Leaving the id outside is a side effect, so it happens in a run, and perhaps more than once. */
function* handOver(around: Surroundings, name: string, awakeable: string): Script<void> {
  const completionId = around.conversation.nextCompletionId();
  yield* run(around, name, completionId, 0, () => {
    around.leaveOutside(awakeable);
    return { kind: "value", value: utf8("left") };
  });
  yield { ask: "wait", future: one({ kind: "completion", id: completionId }), deaf: false };
}

function call(
  progress: Progress,
  name: string,
  to: Callee,
  assignment: Assignment,
  idempotencyKey: string | undefined,
): NotificationId {
  const { conversation } = progress.around;
  const invocationIdNotificationIdx = conversation.nextCompletionId();
  const resultCompletionId = conversation.nextCompletionId();
  conversation.command({
    kind: "call",
    serviceName: to.service,
    handlerName: to.handler,
    key: keyOf(progress, to),
    parameter: utf8(JSON.stringify(assignment)),
    headers: [],
    idempotencyKey,
    scope: undefined,
    limitKey: undefined,
    invocationIdNotificationIdx,
    resultCompletionId,
    name,
  });
  progress.children.push(invocationIdNotificationIdx);
  progress.called.push(invocationIdNotificationIdx);
  return { kind: "completion", id: resultCompletionId };
}

/** "=" stands for the caller's own key. */
function keyOf({ around }: Progress, to: Callee): string {
  return to.key === "=" ? around.key : to.key;
}

function send(progress: Progress, name: string, to: Callee, assignment: Assignment, delayMs: number): void {
  const { around } = progress;
  const invocationIdNotificationIdx = around.conversation.nextCompletionId();
  const command: JournalCommand = {
    kind: "oneWayCall",
    serviceName: to.service,
    handlerName: to.handler,
    key: keyOf(progress, to),
    parameter: utf8(JSON.stringify(assignment)),
    headers: [],
    idempotencyKey: undefined,
    scope: undefined,
    limitKey: undefined,
    invocationIdNotificationIdx,
    invokeTimeMs: delayMs === 0 ? 0 : around.nowMs() + delayMs,
    name,
  };
  around.conversation.command(command, delayMs === 0);
  progress.children.push(invocationIdNotificationIdx);
}

function tellCaller({ around, assignment }: Progress, name: string): void {
  const { tell } = assignment;
  if (tell === undefined) return;
  const value = utf8(`${around.id}/${name}`);
  if ("awakeable" in tell) {
    around.conversation.command({
      kind: "completeAwakeable",
      awakeableId: tell.awakeable,
      result: { kind: "value", value },
      name,
    });
  } else {
    around.conversation.command(signalTo(tell.invocationId, { kind: "signalName", name: tell.signal }, { kind: "value", value }));
  }
}

function signalTo(
  targetInvocationId: string,
  signal: Extract<JournalCommand, { kind: "sendSignal" }>["signal"],
  result: Extract<JournalCommand, { kind: "sendSignal" }>["result"],
): JournalCommand {
  return { kind: "sendSignal", targetInvocationId, signal, result, name: "" };
}

function* childId({ around, children }: Progress, nth: number): Script<string | undefined> {
  if (children.length === 0) return undefined;
  const id: NotificationId = { kind: "completion", id: children[nth % children.length] as number };
  yield { ask: "wait", future: one(id), deaf: false };
  return textOf(around.conversation.seen(id));
}

function textOf(heard: Heard | undefined): string {
  if (heard === undefined) return "?";
  switch (heard.result.kind) {
    case "void":
      return "";
    case "value":
      return fromUtf8(heard.result.value);
    case "failure":
      return `!${heard.result.failure.code} ${heard.result.failure.message}`;
    case "invocationId":
      return heard.result.invocationId;
    case "stateKeys":
      return heard.result.stateKeys.map(fromUtf8).join(",");
  }
}

function textOfBytes(value: Uint8Array | undefined): string {
  return value === undefined ? "" : fromUtf8(value);
}
