/** Random messages of every kind, with the edges in: empty texts, empty values, zero ids, the largest numbers. */
import { anyText } from "@perdure/base/testing";
import fc from "fast-check";
import type {
  AttachTarget,
  AwaitingOn,
  Combinator,
  ErrorMessage,
  Failure,
  Future,
  Header,
  JournalCommand,
  NotificationId,
  NotificationResult,
  ResultValue,
  RunProposal,
  SignalId,
  StartMessage,
  ValueOrFailure,
} from "../src/index.js";

const text = fc.oneof(fc.constant(""), anyText({ maxLength: 20 }), fc.string({ minLength: 30, maxLength: 200 }));
const optionalText = fc.option(text, { nil: undefined });
const uint32 = fc.oneof(fc.nat({ max: 300 }), fc.constant(0xffff_ffff), fc.nat({ max: 0xffff_ffff }));
const milliseconds = fc.oneof(fc.constant(0), fc.nat(), fc.maxSafeNat());
const bytes = fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.uint8Array({ minLength: 120, maxLength: 200 }));
const header: fc.Arbitrary<Header> = fc.record({ key: text, value: text });
const headers = fc.array(header, { maxLength: 3 });

const failure: fc.Arbitrary<Failure> = fc.record({ code: uint32, message: text, metadata: headers });
const voidResult = fc.constant({ kind: "void" } as const);
const valueResult = fc.record({ kind: fc.constant("value" as const), value: bytes });
const failureResult = fc.record({ kind: fc.constant("failure" as const), failure });
const valueOrFailure: fc.Arbitrary<ValueOrFailure> = fc.oneof(valueResult, failureResult);
const result: fc.Arbitrary<ResultValue> = fc.oneof(voidResult, valueResult, failureResult);

const signalId: fc.Arbitrary<SignalId> = fc.oneof(
  fc.record({ kind: fc.constant("signalIndex" as const), index: uint32 }),
  fc.record({ kind: fc.constant("signalName" as const), name: text }),
);

export const notificationIds: fc.Arbitrary<NotificationId> = fc.oneof(
  fc.record({ kind: fc.constant("completion" as const), id: uint32 }),
  signalId,
);

export const notificationResults: fc.Arbitrary<NotificationResult> = fc.oneof(
  result,
  fc.record({ kind: fc.constant("invocationId" as const), invocationId: text }),
  fc.record({ kind: fc.constant("stateKeys" as const), stateKeys: fc.array(bytes, { maxLength: 4 }) }),
);

const attachTarget: fc.Arbitrary<AttachTarget> = fc.oneof(
  fc.record({ kind: fc.constant("invocationId" as const), invocationId: text }),
  fc.record({
    kind: fc.constant("idempotentRequest" as const),
    serviceName: text,
    serviceKey: optionalText,
    handlerName: text,
    idempotencyKey: text,
    scope: optionalText,
  }),
  fc.record({ kind: fc.constant("workflow" as const), workflowName: text, workflowKey: text, scope: optionalText }),
);

const request = {
  serviceName: text,
  handlerName: text,
  key: text,
  parameter: bytes,
  headers,
  idempotencyKey: optionalText,
  scope: optionalText,
  limitKey: optionalText,
  invocationIdNotificationIdx: uint32,
};

/** One generator for each variant, so that a new variant does not compile without one. */
const commandFields: { [Kind in JournalCommand["kind"]]: fc.Arbitrary<Omit<Extract<JournalCommand, { kind: Kind }>, "kind">> } = {
  input: fc.record({ headers, value: bytes, name: text }),
  output: fc.record({ result: valueOrFailure, name: text }),
  getLazyState: fc.record({ stateKey: bytes, resultCompletionId: uint32, name: text }),
  setState: fc.record({ stateKey: bytes, value: bytes, name: text }),
  clearState: fc.record({ stateKey: bytes, name: text }),
  clearAllState: fc.record({ name: text }),
  getLazyStateKeys: fc.record({ resultCompletionId: uint32, name: text }),
  getEagerState: fc.record({ stateKey: bytes, result: fc.oneof(voidResult, valueResult), name: text }),
  getEagerStateKeys: fc.record({ stateKeys: fc.array(bytes, { maxLength: 4 }), name: text }),
  getPromise: fc.record({ key: text, resultCompletionId: uint32, name: text }),
  peekPromise: fc.record({ key: text, resultCompletionId: uint32, name: text }),
  completePromise: fc.record({ key: text, completion: valueOrFailure, resultCompletionId: uint32, name: text }),
  sleep: fc.record({ wakeUpTimeMs: milliseconds, resultCompletionId: uint32, name: text }),
  call: fc.record({ ...request, resultCompletionId: uint32, name: text }),
  oneWayCall: fc.record({ ...request, invokeTimeMs: milliseconds, name: text }),
  sendSignal: fc.record({ targetInvocationId: text, signal: signalId, result, name: text }),
  run: fc.record({ resultCompletionId: uint32, name: text }),
  attachInvocation: fc.record({ target: attachTarget, resultCompletionId: uint32, name: text }),
  getInvocationOutput: fc.record({ target: attachTarget, resultCompletionId: uint32, name: text }),
  completeAwakeable: fc.record({ awakeableId: text, result: valueOrFailure, name: text }),
};

export const commandKinds = Object.keys(commandFields) as JournalCommand["kind"][];

/** Commands of one kind. */
export function commandsOfKind(kind: JournalCommand["kind"]): fc.Arbitrary<JournalCommand> {
  return commandFields[kind].map((fields) => ({ kind, ...fields }) as JournalCommand);
}

export const commands: fc.Arbitrary<JournalCommand> = fc.oneof(...commandKinds.map(commandsOfKind));

export const starts: fc.Arbitrary<StartMessage> = fc.record({
  kind: fc.constant("start" as const),
  id: fc.uint8Array({ minLength: 24, maxLength: 24 }),
  debugId: text,
  knownEntries: uint32,
  state: fc.array(fc.record({ key: bytes, value: bytes }), { maxLength: 4 }),
  partialState: fc.boolean(),
  key: text,
  retryCountSinceLastStoredEntry: uint32,
  durationSinceLastStoredEntryMs: milliseconds,
  randomSeed: fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }),
  scope: optionalText,
  limitKey: optionalText,
  idempotencyKey: optionalText,
});

export const errors: fc.Arbitrary<ErrorMessage> = fc.record({
  kind: fc.constant("error" as const),
  code: uint32,
  message: text,
  stacktrace: text,
  relatedCommandIndex: fc.option(uint32, { nil: undefined }),
  relatedCommandName: optionalText,
  relatedCommandType: fc.option(uint32, { nil: undefined }),
  nextRetryDelayMs: fc.option(milliseconds, { nil: undefined }),
  behavior: fc.constantFrom("retry", "pause", "fail"),
});

export const runProposals: fc.Arbitrary<RunProposal> = fc.record({
  kind: fc.constant("proposeRunCompletion" as const),
  resultCompletionId: uint32,
  result: valueOrFailure,
});

const combinator: fc.Arbitrary<Combinator> = fc.constantFrom(
  "unknown",
  "firstCompleted",
  "allCompleted",
  "firstSucceededOrAllFailed",
  "allSucceededOrFirstFailed",
);

/** Trees of any shape, empty ones and empty branches included. */
export const futures: fc.Arbitrary<Future> = fc.letrec<{ tree: Future }>((tie) => ({
  tree: fc.record({
    completions: fc.array(uint32, { maxLength: 4 }),
    signalIndexes: fc.array(uint32, { maxLength: 3 }),
    signalNames: fc.array(text, { maxLength: 2 }),
    nested: fc.oneof({ maxDepth: 4, withCrossShrink: true }, fc.constant([]), fc.array(tie("tree"), { maxLength: 3 })),
    combinator,
  }),
})).tree;

export const awaitings: fc.Arbitrary<AwaitingOn> = fc.record({
  kind: fc.constant("awaitingOn" as const),
  awaitingOn: futures,
  executingSideEffects: fc.boolean(),
});
