/**
 * The same messages through an independent codec: `@bufbuild/protobuf` with code generated from `proto/service-protocol`.
 * Our values are turned into its messages here, field by field, so that its bytes can be compared with ours.
 */
import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  type AttachTarget,
  type AwaitingOn,
  type Combinator,
  type ErrorMessage,
  type Failure,
  type Future,
  type JournalCommand,
  MessageType,
  type NotificationId,
  type NotificationResult,
  type ResultValue,
  type RunProposal,
  type SignalId,
  type StartMessage,
  type ValueOrFailure,
} from "../src/index.js";
import * as commands from "./gen/commands_pb.js";
import * as control from "./gen/control_pb.js";
import { CombinatorType, type FailureSchema, type FutureSchema } from "./gen/nested_pb.js";
import { NotificationSchema } from "./gen/notifications_pb.js";

/** A message of the other codec with what is needed to read and write it. */
export interface OracleMessage {
  readonly bytes: Uint8Array;
  /** Whether the other codec reads `body` as this message. */
  reads(body: Uint8Array): unknown;
  readonly message: unknown;
}

function oracle<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): OracleMessage {
  const message: MessageShape<Desc> = create(schema, init);
  return { message, bytes: toBinary(schema, message), reads: (body) => fromBinary(schema, body) };
}

/** Leaves out fields that are undefined: the other codec takes presence from the key. */
function present<T extends object>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

function failureInit({ code, message, metadata }: Failure): MessageInitShape<typeof FailureSchema> {
  return { code, message, metadata: metadata.map(({ key, value }) => ({ key, value })) };
}

function valueOrFailureInit(result: ValueOrFailure) {
  return result.kind === "value"
    ? ({ case: "value", value: { content: result.value } } as const)
    : ({ case: "failure", value: failureInit(result.failure) } as const);
}

function resultInit(result: ResultValue) {
  return result.kind === "void" ? ({ case: "void", value: {} } as const) : valueOrFailureInit(result);
}

function signalInit(signal: SignalId) {
  return signal.kind === "signalIndex"
    ? ({ case: "idx", value: signal.index } as const)
    : ({ case: "name", value: signal.name } as const);
}

function targetInit(target: AttachTarget) {
  switch (target.kind) {
    case "invocationId":
      return { case: "invocationId", value: target.invocationId } as const;
    case "idempotentRequest": {
      const { kind: _, ...fields } = target;
      return {
        case: "idempotentRequestTarget",
        value: present<typeof fields & { scope: string; serviceKey: string }>(fields),
      } as const;
    }
    case "workflow": {
      const { kind: _, ...fields } = target;
      return { case: "workflowTarget", value: present<typeof fields & { scope: string }>(fields) } as const;
    }
  }
}

const combinatorTypes: Readonly<Record<Combinator, CombinatorType>> = {
  unknown: CombinatorType.COMBINATOR_UNKNOWN,
  firstCompleted: CombinatorType.FIRST_COMPLETED,
  allCompleted: CombinatorType.ALL_COMPLETED,
  firstSucceededOrAllFailed: CombinatorType.FIRST_SUCCEEDED_OR_ALL_FAILED,
  allSucceededOrFirstFailed: CombinatorType.ALL_SUCCEEDED_OR_FIRST_FAILED,
};

function futureInit(future: Future): MessageInitShape<typeof FutureSchema> {
  return {
    waitingCompletions: [...future.completions],
    waitingSignals: [...future.signalIndexes],
    waitingNamedSignals: [...future.signalNames],
    nestedFutures: future.nested.map(futureInit),
    combinatorType: combinatorTypes[future.combinator],
  };
}

/** The fields that a call with and one without a result have in common. */
function calledInit(command: Extract<JournalCommand, { readonly kind: "call" | "oneWayCall" }>) {
  const { serviceName, handlerName, key, parameter, idempotencyKey, scope, limitKey, name } = command;
  const headers = command.headers.map((header) => ({ key: header.key, value: header.value }));
  return { serviceName, handlerName, key, parameter, headers, idempotencyKey, scope, limitKey, name };
}

export function oracleCommand(command: JournalCommand): OracleMessage {
  const { kind: _, ...rest } = command;
  switch (command.kind) {
    case "input":
      return oracle(commands.InputCommandSchema, {
        headers: command.headers.map(({ key, value }) => ({ key, value })),
        value: { content: command.value },
        name: command.name,
      });
    case "output":
      return oracle(commands.OutputCommandSchema, { result: valueOrFailureInit(command.result), name: command.name });
    case "getLazyState": {
      const { stateKey: key, resultCompletionId, name } = command;
      return oracle(commands.GetLazyStateCommandSchema, { key, resultCompletionId, name });
    }
    case "setState":
      return oracle(commands.SetStateCommandSchema, {
        key: command.stateKey,
        value: { content: command.value },
        name: command.name,
      });
    case "clearState":
      return oracle(commands.ClearStateCommandSchema, { key: command.stateKey, name: command.name });
    case "clearAllState":
      return oracle(commands.ClearAllStateCommandSchema, rest);
    case "getLazyStateKeys":
      return oracle(commands.GetLazyStateKeysCommandSchema, rest);
    case "getEagerState": {
      const result: MessageInitShape<typeof commands.GetEagerStateCommandSchema>["result"] =
        command.result.kind === "void"
          ? { case: "void", value: {} }
          : { case: "value", value: { content: command.result.value } };
      return oracle(commands.GetEagerStateCommandSchema, { key: command.stateKey, result, name: command.name });
    }
    case "getEagerStateKeys":
      return oracle(commands.GetEagerStateKeysCommandSchema, { value: { keys: [...command.stateKeys] }, name: command.name });
    case "getPromise":
      return oracle(commands.GetPromiseCommandSchema, rest);
    case "peekPromise":
      return oracle(commands.PeekPromiseCommandSchema, rest);
    case "completePromise": {
      const { key, resultCompletionId, name } = command;
      const completion =
        command.completion.kind === "value"
          ? ({ case: "completionValue", value: { content: command.completion.value } } as const)
          : ({ case: "completionFailure", value: failureInit(command.completion.failure) } as const);
      return oracle(commands.CompletePromiseCommandSchema, { key, completion, resultCompletionId, name });
    }
    case "sleep": {
      const { resultCompletionId, name } = command;
      return oracle(commands.SleepCommandSchema, { wakeUpTime: BigInt(command.wakeUpTimeMs), resultCompletionId, name });
    }
    case "call": {
      const { invocationIdNotificationIdx, resultCompletionId } = command;
      const init = { ...calledInit(command), invocationIdNotificationIdx, resultCompletionId };
      return oracle(commands.CallCommandSchema, present<MessageInitShape<typeof commands.CallCommandSchema>>(init));
    }
    case "oneWayCall": {
      const { invocationIdNotificationIdx, invokeTimeMs } = command;
      const init = { ...calledInit(command), invocationIdNotificationIdx, invokeTime: BigInt(invokeTimeMs) };
      return oracle(commands.OneWayCallCommandSchema, present<MessageInitShape<typeof commands.OneWayCallCommandSchema>>(init));
    }
    case "sendSignal":
      return oracle(commands.SendSignalCommandSchema, {
        targetInvocationId: command.targetInvocationId,
        signalId: signalInit(command.signal),
        result: resultInit(command.result),
        entryName: command.name,
      });
    case "run":
      return oracle(commands.RunCommandSchema, rest);
    case "attachInvocation":
    case "getInvocationOutput": {
      const schema =
        command.kind === "attachInvocation" ? commands.AttachInvocationCommandSchema : commands.GetInvocationOutputCommandSchema;
      const { resultCompletionId, name } = command;
      return oracle(schema, { target: targetInit(command.target), resultCompletionId, name });
    }
    case "completeAwakeable": {
      const { awakeableId, name } = command;
      return oracle(commands.CompleteAwakeableCommandSchema, { awakeableId, result: valueOrFailureInit(command.result), name });
    }
  }
}

export function oracleNotification(id: NotificationId, result: NotificationResult): OracleMessage {
  return oracle(NotificationSchema, {
    id: id.kind === "completion" ? { case: "completionId", value: id.id } : signalInit(id),
    result:
      result.kind === "invocationId"
        ? { case: "invocationId", value: result.invocationId }
        : result.kind === "stateKeys"
          ? { case: "stateKeys", value: { keys: [...result.stateKeys] } }
          : resultInit(result),
  });
}

export function oracleStart(start: StartMessage): OracleMessage {
  return oracle(
    control.StartSchema,
    present<MessageInitShape<typeof control.StartSchema>>({
      id: start.id,
      debugId: start.debugId,
      knownEntries: start.knownEntries,
      stateMap: start.state.map(({ key, value }) => ({ key, value })),
      partialState: start.partialState,
      key: start.key,
      retryCountSinceLastStoredEntry: start.retryCountSinceLastStoredEntry,
      durationSinceLastStoredEntry: BigInt(start.durationSinceLastStoredEntryMs),
      randomSeed: start.randomSeed,
      scope: start.scope,
      limitKey: start.limitKey,
      idempotencyKey: start.idempotencyKey,
    }),
  );
}

export function oracleError(error: ErrorMessage): OracleMessage {
  const { code, message, stacktrace, relatedCommandIndex, relatedCommandName, relatedCommandType, nextRetryDelayMs } = error;
  return oracle(
    control.ErrorSchema,
    present<MessageInitShape<typeof control.ErrorSchema>>({
      code,
      message,
      stacktrace,
      relatedCommandIndex,
      relatedCommandName,
      relatedCommandType,
      nextRetryDelay: nextRetryDelayMs === undefined ? undefined : BigInt(nextRetryDelayMs),
      behavior: control.ErrorBehavior[error.behavior.toUpperCase() as "RETRY" | "PAUSE" | "FAIL"],
    }),
  );
}

export function oracleProposal({ resultCompletionId, result }: RunProposal): OracleMessage {
  return oracle(control.ProposeRunCompletionSchema, {
    resultCompletionId,
    result:
      result.kind === "value" ? { case: "value", value: result.value } : { case: "failure", value: failureInit(result.failure) },
  });
}

export function oracleAwaitingOn({ awaitingOn, executingSideEffects }: AwaitingOn): OracleMessage {
  return oracle(control.AwaitingOnSchema, { awaitingOn: futureInit(awaitingOn), executingSideEffects });
}

/** A suspension on one level of `future` as v5 and v6 write it, or on all of it as v7 does. */
export function oracleSuspension(future: Future, version: 6 | 7): OracleMessage {
  const { waitingCompletions = [], waitingSignals = [], waitingNamedSignals = [] } = futureInit(future);
  const lists = { waitingCompletions, waitingSignals, waitingNamedSignals };
  return oracle(control.SuspensionSchema, version === 7 ? { awaitingOn: futureInit(future) } : lists);
}

/** The acks, by message type. */
export function oracleAck(type: number, id: number): OracleMessage {
  return type === MessageType.CommandAck
    ? oracle(control.CommandAckSchema, { commandIndex: id })
    : oracle(control.ProposeRunCompletionAckSchema, { completionId: id });
}
