/**
 * The commands that a handler can write into its journal (§2.3): a closed union tagged `kind`, one variant per message type. `name` is the
 * label user code gave the entry, "" when none. Bytes are views into the decoded body.
 *
 * Completion ids are chosen by the SDK and unique within the invocation; the server only stores and returns them (§3.3).
 */
import { MessageType } from "./message-type.js";
import type { Header, ResultValue, SignalId, ValueOrFailure, ValueResult, VoidResult } from "./values.js";

/** Index 0 of every journal, written by the server when the invocation is accepted. */
export interface InputCommand {
  readonly kind: "input";
  readonly headers: readonly Header[];
  readonly value: Uint8Array;
  readonly name: string;
}

/** The handler's result; the last one in the journal counts. */
export interface OutputCommand {
  readonly kind: "output";
  readonly result: ValueOrFailure;
  readonly name: string;
}

export interface GetLazyStateCommand {
  readonly kind: "getLazyState";
  readonly stateKey: Uint8Array;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface SetStateCommand {
  readonly kind: "setState";
  readonly stateKey: Uint8Array;
  readonly value: Uint8Array;
  readonly name: string;
}

export interface ClearStateCommand {
  readonly kind: "clearState";
  readonly stateKey: Uint8Array;
  readonly name: string;
}

export interface ClearAllStateCommand {
  readonly kind: "clearAllState";
  readonly name: string;
}

export interface GetLazyStateKeysCommand {
  readonly kind: "getLazyStateKeys";
  readonly resultCompletionId: number;
  readonly name: string;
}

/** The SDK answered itself from the state in Start; recorded so that replay sees the same. */
export interface GetEagerStateCommand {
  readonly kind: "getEagerState";
  readonly stateKey: Uint8Array;
  readonly result: VoidResult | ValueResult;
  readonly name: string;
}

export interface GetEagerStateKeysCommand {
  readonly kind: "getEagerStateKeys";
  readonly stateKeys: readonly Uint8Array[];
  readonly name: string;
}

export interface GetPromiseCommand {
  readonly kind: "getPromise";
  readonly key: string;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface PeekPromiseCommand {
  readonly kind: "peekPromise";
  readonly key: string;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface CompletePromiseCommand {
  readonly kind: "completePromise";
  readonly key: string;
  readonly completion: ValueOrFailure;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface SleepCommand {
  readonly kind: "sleep";
  /** Milliseconds since the epoch by the SDK's clock; the past means now. */
  readonly wakeUpTimeMs: number;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface CallCommand {
  readonly kind: "call";
  readonly serviceName: string;
  readonly handlerName: string;
  /** "" for a plain service. */
  readonly key: string;
  readonly parameter: Uint8Array;
  readonly headers: readonly Header[];
  readonly idempotencyKey: string | undefined;
  /** v7. */
  readonly scope: string | undefined;
  /** v7. */
  readonly limitKey: string | undefined;
  readonly invocationIdNotificationIdx: number;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface OneWayCallCommand {
  readonly kind: "oneWayCall";
  readonly serviceName: string;
  readonly handlerName: string;
  /** "" for a plain service. */
  readonly key: string;
  readonly parameter: Uint8Array;
  readonly headers: readonly Header[];
  readonly idempotencyKey: string | undefined;
  /** v7. */
  readonly scope: string | undefined;
  /** v7. */
  readonly limitKey: string | undefined;
  readonly invocationIdNotificationIdx: number;
  /** Time at which to start the invocation, milliseconds since the epoch by the SDK's clock; 0 means at once. */
  readonly invokeTimeMs: number;
  readonly name: string;
}

export interface SendSignalCommand {
  readonly kind: "sendSignal";
  /** Id in the text that the SDK sent; an unparsable one is RT0012, raised when the command is applied. */
  readonly targetInvocationId: string;
  readonly signal: SignalId;
  readonly result: ResultValue;
  /** The label; `entry_name` on the wire, since `name` may be the signal's. */
  readonly name: string;
}

/** Records that a closure ran here; its result arrives as a `RunProposal` and is stored as a RunCompletion. */
export interface RunCommand {
  readonly kind: "run";
  readonly resultCompletionId: number;
  readonly name: string;
}

/** The invocation that AttachInvocation and GetInvocationOutput refer to. */
export type AttachTarget =
  | { readonly kind: "invocationId"; readonly invocationId: string }
  | {
      readonly kind: "idempotentRequest";
      readonly serviceName: string;
      readonly serviceKey: string | undefined;
      readonly handlerName: string;
      readonly idempotencyKey: string;
      /** v7. */
      readonly scope: string | undefined;
    }
  | {
      readonly kind: "workflow";
      readonly workflowName: string;
      readonly workflowKey: string;
      /** v7. */
      readonly scope: string | undefined;
    };

export interface AttachInvocationCommand {
  readonly kind: "attachInvocation";
  readonly target: AttachTarget;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface GetInvocationOutputCommand {
  readonly kind: "getInvocationOutput";
  readonly target: AttachTarget;
  readonly resultCompletionId: number;
  readonly name: string;
}

export interface CompleteAwakeableCommand {
  readonly kind: "completeAwakeable";
  /** Id in the text that the SDK sent; an unparsable one is RT0012, raised when the command is applied. */
  readonly awakeableId: string;
  readonly result: ValueOrFailure;
  readonly name: string;
}

export type JournalCommand =
  | InputCommand
  | OutputCommand
  | GetLazyStateCommand
  | SetStateCommand
  | ClearStateCommand
  | ClearAllStateCommand
  | GetLazyStateKeysCommand
  | GetEagerStateCommand
  | GetEagerStateKeysCommand
  | GetPromiseCommand
  | PeekPromiseCommand
  | CompletePromiseCommand
  | SleepCommand
  | CallCommand
  | OneWayCallCommand
  | SendSignalCommand
  | RunCommand
  | AttachInvocationCommand
  | GetInvocationOutputCommand
  | CompleteAwakeableCommand;

/** Message type of each variant. */
export const commandTypeOf: Readonly<Record<JournalCommand["kind"], MessageType>> = {
  input: MessageType.Input,
  output: MessageType.Output,
  getLazyState: MessageType.GetLazyState,
  setState: MessageType.SetState,
  clearState: MessageType.ClearState,
  clearAllState: MessageType.ClearAllState,
  getLazyStateKeys: MessageType.GetLazyStateKeys,
  getEagerState: MessageType.GetEagerState,
  getEagerStateKeys: MessageType.GetEagerStateKeys,
  getPromise: MessageType.GetPromise,
  peekPromise: MessageType.PeekPromise,
  completePromise: MessageType.CompletePromise,
  sleep: MessageType.Sleep,
  call: MessageType.Call,
  oneWayCall: MessageType.OneWayCall,
  sendSignal: MessageType.SendSignal,
  run: MessageType.Run,
  attachInvocation: MessageType.AttachInvocation,
  getInvocationOutput: MessageType.GetInvocationOutput,
  completeAwakeable: MessageType.CompleteAwakeable,
};
