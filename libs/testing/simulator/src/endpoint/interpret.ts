/** Runs a program as a handler would: each operation is a sequence of commands and waits, which alone determine the next one. */
import { awakeableId, fromUtf8, utf8 } from "@perdure/base";
import {
  type AttachTarget,
  cancelSignalId,
  type JournalCommand,
  type NotificationId,
  type ValueOrFailure,
} from "@perdure/service-protocol";
import { Cancelled } from "./conversation.js";
import { ANSWER_CALLER } from "./draw-program.js";
import { textOf, textOfBytes } from "./notification-text.js";
import type { Assignment, CalledHandler, HandlerProgram, ProgramOperation } from "./program.js";
import type { HandlerContext, HandlerScript, ProgramProgress } from "./program-progress.js";
import { join, now, one } from "./program-waits.js";

const CANCELLED: ValueOrFailure = { kind: "failure", failure: { code: 409, message: "Cancelled", metadata: [] } };

/** The handler; its return value is the invocation's outcome. */
export function* interpret(around: HandlerContext): HandlerScript<ValueOrFailure> {
  const assignment = JSON.parse(fromUtf8(around.conversation.input())) as Assignment;
  const progress: ProgramProgress = { around, assignment, pending: [], children: [], called: [], observed: [] };
  try {
    for (const [n, operation] of assignment.program.operations.entries()) {
      const ms = around.thinkingMs();
      if (ms > 0) yield { kind: "work", ms };
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

/** A cancelled handler cancels the invocations that it called. */
function* passOn({ around, called }: ProgramProgress): HandlerScript<void> {
  for (const child of called) {
    const id: NotificationId = { kind: "completion", id: child };
    yield { kind: "wait", future: one(id), deaf: true };
    around.conversation.command(signalTo(textOf(around.conversation.consumedNotification(id)), cancelSignalId, { kind: "void" }));
  }
}

function* perform(progress: ProgramProgress, name: string, operation: ProgramOperation): HandlerScript<void> {
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
        { program: operation.program, sink: undefined },
        operation.idempotencyKey,
      );
      return yield* now(progress, name, result, operation.later);
    }
    case "send":
      return send(progress, name, operation.to, { program: operation.program, sink: undefined }, operation.delayMs);
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
      if (operation.by === "callee") call(progress, name, CALLEE, { program: ANSWER_CALLER, sink: { awakeable } }, undefined);
      else yield* handOver(around, name, awakeable);
      return yield* now(progress, name, { kind: "signalIndex", index }, operation.later);
    }
    case "namedSignal": {
      const signal = `${operation.name}${name}`;
      call(progress, name, CALLEE, { program: ANSWER_CALLER, sink: { invocationId: around.id, signal } }, undefined);
      return yield* now(progress, name, { kind: "signalName", name: signal }, operation.later);
    }
    case "tellCaller":
      return answerCaller(progress, name);
    case "getPromise":
    case "peekPromise":
    case "completePromise":
      return yield* performOnPromise(progress, name, operation);
    case "attach":
    case "output":
    case "cancelChild":
      return yield* performOnChild(progress, name, operation);
    case "attachTo":
      return yield* attach(progress, name, "attachInvocation", operation.target, operation.later);
    case "outputOf":
      return yield* attach(progress, name, "getInvocationOutput", operation.target, false);
    case "join":
      return yield* join(progress, operation.how);
    case "fail":
      return;
  }
}

type OperationOf<Op extends ProgramOperation["op"]> = Extract<ProgramOperation, { readonly op: Op }>;

function* performOnPromise(
  progress: ProgramProgress,
  name: string,
  operation: OperationOf<"getPromise" | "peekPromise" | "completePromise">,
): HandlerScript<void> {
  const { around } = progress;
  const { conversation } = around;
  switch (operation.op) {
    case "getPromise": {
      const helper: HandlerProgram = { operations: [{ op: "completePromise", name: operation.name }] };
      const to: CalledHandler = { service: "W", handler: "h", key: around.key };
      if (operation.helped) send(progress, name, to, { program: helper, sink: undefined }, 0);
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
  }
}

function* performOnChild(
  progress: ProgramProgress,
  name: string,
  operation: OperationOf<"attach" | "output" | "cancelChild">,
): HandlerScript<void> {
  const { conversation } = progress.around;
  const child = yield* childId(progress, operation.child);
  if (child === undefined) return;
  if (operation.op === "cancelChild") {
    conversation.command(signalTo(child, cancelSignalId, { kind: "void" }));
    return;
  }
  const kind = operation.op === "attach" ? "attachInvocation" : "getInvocationOutput";
  const target = { kind: "invocationId", invocationId: child } as const;
  return yield* attach(progress, name, kind, target, operation.op === "attach" && operation.later);
}

function* attach(
  progress: ProgramProgress,
  name: string,
  kind: "attachInvocation" | "getInvocationOutput",
  target: AttachTarget,
  later: boolean,
): HandlerScript<void> {
  const { conversation } = progress.around;
  const completionId = conversation.nextCompletionId();
  conversation.command({ kind, target, resultCompletionId: completionId, name });
  return yield* now(progress, name, { kind: "completion", id: completionId }, later);
}

const CALLEE: CalledHandler = { service: "S", handler: "h", key: "" };

// ── commands made of several parts ───────────────────────────────────────────────────────────────

/** Executes the run unless its result exists already, then proposes the result. The caller waits for it. */
function* run(
  around: HandlerContext,
  name: string,
  completionId: number,
  ms: number,
  execute: () => ValueOrFailure,
): HandlerScript<void> {
  around.conversation.command({ kind: "run", resultCompletionId: completionId, name });
  if (around.conversation.has(completionId)) return;
  yield { kind: "work", ms };
  if (!around.conversation.has(completionId)) around.propose(completionId, execute());
}

function runResult(around: HandlerContext, completionId: number, fails: boolean): ValueOrFailure {
  const execution = `run ${completionId} executed as ${around.executed()}`;
  if (fails) return { kind: "failure", failure: { code: 500, message: execution, metadata: [] } };
  return { kind: "value", value: utf8(execution) };
}

/** Giving the id away is a side effect, so it happens in a run, and perhaps more than once. */
function* handOver(around: HandlerContext, name: string, awakeable: string): HandlerScript<void> {
  const completionId = around.conversation.nextCompletionId();
  yield* run(around, name, completionId, 0, () => {
    around.leaveOutside(awakeable);
    return { kind: "value", value: utf8("left") };
  });
  yield { kind: "wait", future: one({ kind: "completion", id: completionId }), deaf: false };
}

function call(
  progress: ProgramProgress,
  name: string,
  to: CalledHandler,
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
function keyOf({ around }: ProgramProgress, to: CalledHandler): string {
  return to.key === "=" ? around.key : to.key;
}

function send(progress: ProgramProgress, name: string, to: CalledHandler, assignment: Assignment, delayMs: number): void {
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

function answerCaller({ around, assignment }: ProgramProgress, name: string): void {
  const { sink } = assignment;
  if (sink === undefined) return;
  const value = utf8(`${around.id}/${name}`);
  if ("awakeable" in sink) {
    around.conversation.command({
      kind: "completeAwakeable",
      awakeableId: sink.awakeable,
      result: { kind: "value", value },
      name,
    });
  } else {
    around.conversation.command(signalTo(sink.invocationId, { kind: "signalName", name: sink.signal }, { kind: "value", value }));
  }
}

function signalTo(
  targetInvocationId: string,
  signal: Extract<JournalCommand, { kind: "sendSignal" }>["signal"],
  result: Extract<JournalCommand, { kind: "sendSignal" }>["result"],
): JournalCommand {
  return { kind: "sendSignal", targetInvocationId, signal, result, name: "" };
}

function* childId({ around, children }: ProgramProgress, nth: number): HandlerScript<string | undefined> {
  if (children.length === 0) return undefined;
  const id: NotificationId = { kind: "completion", id: children[nth % children.length] as number };
  yield { kind: "wait", future: one(id), deaf: false };
  return textOf(around.conversation.consumedNotification(id));
}
