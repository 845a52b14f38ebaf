/**
 * Frames recorded from the TypeScript SDK and the reference server (`testdata/frames.vN.jsonl`), read into our own values.
 * The recordings were decoded by a program that knows the field tables only, so building values from them and comparing
 * with our decoder checks one reading of the tables against another.
 */
import { readFileSync } from "node:fs";
import type {
  AttachTarget,
  Combinator,
  ErrorMessage,
  Failure,
  Future,
  Header,
  JournalCommand,
  NotificationId,
  NotificationResult,
  ResultValue,
  SdkControlMessage,
  SignalId,
  StartMessage,
  ValueOrFailure,
} from "../src/index.js";
import { MessageType, messageTypeName } from "../src/index.js";

/** A message as recorded: `"<field number>:<field name>"` to value, 64-bit numbers as decimal text. */
export type RecordedMessage = { readonly [field: string]: unknown };

export interface RecordedFrame {
  readonly scenario: string;
  readonly to: "endpoint" | "server";
  readonly type: number;
  readonly flags: number;
  readonly body: Uint8Array;
  readonly decoded: RecordedMessage;
}

export function recordedFrames(version: number): RecordedFrame[] {
  const text = readFileSync(new URL(`../testdata/frames.v${version}.jsonl`, import.meta.url), "utf8");
  return text.trimEnd().split("\n").map(parseFrame);
}

function parseFrame(line: string): RecordedFrame {
  const raw = JSON.parse(line) as Record<"scenario" | "type" | "flags" | "bytes", string> & {
    to: "endpoint" | "server";
    decoded: RecordedMessage;
  };
  return {
    scenario: raw.scenario,
    to: raw.to,
    type: Number(raw.type),
    flags: Number(raw.flags),
    body: Uint8Array.from(Buffer.from(raw.bytes, "hex")),
    decoded: raw.decoded,
  };
}

/** Field by number. Names in the recordings repeat the tables and are not needed to find a field. */
function field(message: RecordedMessage, number: number): unknown {
  for (const key of Object.keys(message)) if (key.startsWith(`${number}:`)) return message[key];
  return undefined;
}

function has(message: RecordedMessage, number: number): boolean {
  return field(message, number) !== undefined;
}

function text(message: RecordedMessage, number: number): string {
  return (field(message, number) ?? "") as string;
}

function optionalText(message: RecordedMessage, number: number): string | undefined {
  return field(message, number) as string | undefined;
}

function count(message: RecordedMessage, number: number): number {
  return Number(field(message, number) ?? 0);
}

function optionalCount(message: RecordedMessage, number: number): number | undefined {
  return has(message, number) ? count(message, number) : undefined;
}

function nested(message: RecordedMessage, number: number): RecordedMessage {
  return field(message, number) as RecordedMessage;
}

function list<T>(message: RecordedMessage, number: number): T[] {
  return (field(message, number) ?? []) as T[];
}

function bytesOf(recorded: unknown): Uint8Array {
  const { utf8, hex } = (recorded ?? {}) as { utf8?: string; hex?: string };
  return Uint8Array.from(hex === undefined ? Buffer.from(utf8 ?? "", "utf8") : Buffer.from(hex, "hex"));
}

function bytes(message: RecordedMessage, number: number): Uint8Array {
  return bytesOf(field(message, number));
}

function content(message: RecordedMessage, number: number): Uint8Array {
  return bytes(nested(message, number), 1);
}

function headers(message: RecordedMessage, number: number): Header[] {
  return list<RecordedMessage>(message, number).map((header) => ({ key: text(header, 1), value: text(header, 2) }));
}

function failure(message: RecordedMessage, number: number): Failure {
  const recorded = nested(message, number);
  return { code: count(recorded, 1), message: text(recorded, 2), metadata: headers(recorded, 3) };
}

function valueOrFailure(message: RecordedMessage, valueField: number, failureField: number): ValueOrFailure {
  if (has(message, failureField)) return { kind: "failure", failure: failure(message, failureField) };
  return { kind: "value", value: content(message, valueField) };
}

function anyResult(message: RecordedMessage): ResultValue {
  return has(message, 4) ? { kind: "void" } : valueOrFailure(message, 5, 6);
}

function signalId(message: RecordedMessage): SignalId {
  return has(message, 2) ? { kind: "signalIndex", index: count(message, 2) } : { kind: "signalName", name: text(message, 3) };
}

function stateKeys(message: RecordedMessage, number: number): Uint8Array[] {
  return list(nested(message, number), 1).map(bytesOf);
}

const combinators: Record<string, Combinator> = {
  FIRST_COMPLETED: "firstCompleted",
  ALL_COMPLETED: "allCompleted",
  FIRST_SUCCEEDED_OR_ALL_FAILED: "firstSucceededOrAllFailed",
  ALL_SUCCEEDED_OR_FIRST_FAILED: "allSucceededOrFirstFailed",
};

function future(message: RecordedMessage): Future {
  return {
    completions: list<number>(message, 1),
    signalIndexes: list<number>(message, 2),
    signalNames: list<string>(message, 3),
    nested: list<RecordedMessage>(message, 4).map(future),
    combinator: combinators[text(message, 5).split(" ")[1] ?? ""] ?? "unknown",
  };
}

function attachTarget(message: RecordedMessage): AttachTarget {
  if (has(message, 1)) return { kind: "invocationId", invocationId: text(message, 1) };
  if (has(message, 4)) {
    const workflow = nested(message, 4);
    return {
      kind: "workflow",
      workflowName: text(workflow, 1),
      workflowKey: text(workflow, 2),
      scope: optionalText(workflow, 3),
    };
  }
  const request = nested(message, 3);
  return {
    kind: "idempotentRequest",
    serviceName: text(request, 1),
    serviceKey: optionalText(request, 2),
    handlerName: text(request, 3),
    idempotencyKey: text(request, 4),
    scope: optionalText(request, 5),
  };
}

/** The command a recorded frame holds. */
export function recordedCommand({ type, decoded: m }: RecordedFrame): JournalCommand {
  const name = text(m, 12);
  const resultCompletionId = count(m, 11);
  switch (type) {
    case MessageType.Input:
      return { kind: "input", headers: headers(m, 1), value: content(m, 14), name };
    case MessageType.Output:
      return { kind: "output", result: valueOrFailure(m, 14, 15), name };
    case MessageType.GetLazyState:
      return { kind: "getLazyState", stateKey: bytes(m, 1), resultCompletionId, name };
    case MessageType.SetState:
      return { kind: "setState", stateKey: bytes(m, 1), value: content(m, 3), name };
    case MessageType.ClearState:
      return { kind: "clearState", stateKey: bytes(m, 1), name };
    case MessageType.ClearAllState:
      return { kind: "clearAllState", name };
    case MessageType.GetLazyStateKeys:
      return { kind: "getLazyStateKeys", resultCompletionId, name };
    case MessageType.GetEagerState: {
      const result = has(m, 13) ? ({ kind: "void" } as const) : ({ kind: "value", value: content(m, 14) } as const);
      return { kind: "getEagerState", stateKey: bytes(m, 1), result, name };
    }
    case MessageType.GetEagerStateKeys:
      return { kind: "getEagerStateKeys", stateKeys: stateKeys(m, 14), name };
    case MessageType.GetPromise:
      return { kind: "getPromise", key: text(m, 1), resultCompletionId, name };
    case MessageType.PeekPromise:
      return { kind: "peekPromise", key: text(m, 1), resultCompletionId, name };
    case MessageType.CompletePromise:
      return { kind: "completePromise", key: text(m, 1), completion: valueOrFailure(m, 2, 3), resultCompletionId, name };
    case MessageType.Sleep:
      return { kind: "sleep", wakeUpTimeMs: count(m, 1), resultCompletionId, name };
    case MessageType.Call:
      return {
        kind: "call",
        serviceName: text(m, 1),
        handlerName: text(m, 2),
        parameter: bytes(m, 3),
        headers: headers(m, 4),
        key: text(m, 5),
        idempotencyKey: optionalText(m, 6),
        scope: optionalText(m, 7),
        limitKey: optionalText(m, 8),
        invocationIdNotificationIdx: count(m, 10),
        resultCompletionId,
        name,
      };
    case MessageType.OneWayCall:
      return {
        kind: "oneWayCall",
        serviceName: text(m, 1),
        handlerName: text(m, 2),
        parameter: bytes(m, 3),
        invokeTimeMs: count(m, 4),
        headers: headers(m, 5),
        key: text(m, 6),
        idempotencyKey: optionalText(m, 7),
        scope: optionalText(m, 8),
        limitKey: optionalText(m, 9),
        invocationIdNotificationIdx: count(m, 10),
        name,
      };
    case MessageType.SendSignal:
      return { kind: "sendSignal", targetInvocationId: text(m, 1), signal: signalId(m), result: anyResult(m), name };
    case MessageType.Run:
      return { kind: "run", resultCompletionId, name };
    case MessageType.AttachInvocation:
      return { kind: "attachInvocation", target: attachTarget(m), resultCompletionId, name };
    case MessageType.GetInvocationOutput:
      return { kind: "getInvocationOutput", target: attachTarget(m), resultCompletionId, name };
    case MessageType.CompleteAwakeable:
      return { kind: "completeAwakeable", awakeableId: text(m, 1), result: valueOrFailure(m, 2, 3), name };
    default:
      throw new Error(`no command: ${messageTypeName(type)}`);
  }
}

/** Id and result of a recorded notification. */
export function recordedNotification({ decoded: m }: RecordedFrame): { id: NotificationId; result: NotificationResult } {
  const id: NotificationId = has(m, 1) ? { kind: "completion", id: count(m, 1) } : signalId(m);
  if (has(m, 16)) return { id, result: { kind: "invocationId", invocationId: text(m, 16) } };
  if (has(m, 17)) return { id, result: { kind: "stateKeys", stateKeys: stateKeys(m, 17) } };
  return { id, result: anyResult(m) };
}

export function recordedStart({ decoded: m }: RecordedFrame): StartMessage {
  return {
    kind: "start",
    id: Uint8Array.from(Buffer.from(text(m, 1), "hex")),
    debugId: text(m, 2),
    knownEntries: count(m, 3),
    state: list<RecordedMessage>(m, 4).map((entry) => ({ key: bytes(entry, 1), value: bytes(entry, 2) })),
    partialState: field(m, 5) === true,
    key: text(m, 6),
    retryCountSinceLastStoredEntry: count(m, 7),
    durationSinceLastStoredEntryMs: count(m, 8),
    randomSeed: BigInt((field(m, 9) ?? "0") as string),
    scope: optionalText(m, 10),
    limitKey: optionalText(m, 11),
    idempotencyKey: optionalText(m, 12),
  };
}

/** The control message a recorded frame from an SDK holds. */
export function recordedControl({ type, decoded: m }: RecordedFrame): SdkControlMessage {
  switch (type) {
    case MessageType.Suspension:
      return { kind: "suspension", awaitingOn: has(m, 4) ? future(nested(m, 4)) : future(m) };
    case MessageType.Error:
      return recordedError(m);
    case MessageType.End:
      return { kind: "end" };
    case MessageType.ProposeRunCompletion: {
      const result: ValueOrFailure = has(m, 15)
        ? { kind: "failure", failure: failure(m, 15) }
        : { kind: "value", value: bytes(m, 14) };
      return { kind: "proposeRunCompletion", resultCompletionId: count(m, 1), result };
    }
    case MessageType.AwaitingOn:
      return { kind: "awaitingOn", awaitingOn: future(nested(m, 1)), executingSideEffects: field(m, 2) === true };
    default:
      throw new Error(`no control message of an SDK: ${messageTypeName(type)}`);
  }
}

function recordedError(m: RecordedMessage): ErrorMessage {
  const behavior = text(m, 9);
  return {
    kind: "error",
    code: count(m, 1),
    message: text(m, 2),
    stacktrace: text(m, 3),
    relatedCommandIndex: optionalCount(m, 4),
    relatedCommandName: optionalText(m, 5),
    relatedCommandType: optionalCount(m, 6),
    nextRetryDelayMs: optionalCount(m, 8),
    behavior: behavior.endsWith("PAUSE") ? "pause" : behavior.endsWith("FAIL") ? "fail" : "retry",
  };
}

/** The one number an ack carries. */
export function recordedAck({ decoded }: RecordedFrame): number {
  return count(decoded, 1);
}
