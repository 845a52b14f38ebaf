/** Generators of invocations of every shape, for property tests of stores and codecs. */
import { type DeploymentId, type EventSubscriptionId, invocationIdFromRaw, type SubscriptionId } from "@perdure/base";
import type { Combinator, Failure, Future } from "@perdure/service-protocol";
import {
  EVENT_TYPES,
  type Invocation,
  type InvocationFacts,
  type JournalProgress,
  type Milestones,
  type Outcome,
  type Sink,
  type Source,
  type Target,
} from "@perdure/state-machine";
import fc from "fast-check";

const COMBINATORS: readonly Combinator[] = [
  "unknown",
  "firstCompleted",
  "allCompleted",
  "firstSucceededOrAllFailed",
  "allSucceededOrFirstFailed",
];

/** Text as it can come over a wire: no lone surrogates. */
const text = fc.string({ unit: "grapheme", maxLength: 12 });
const bytes = fc.uint8Array({ maxLength: 24 });
const timeMs = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: 1_700_000_000_000, max: 2_000_000_000_000 }),
  fc.constant(Number.MAX_SAFE_INTEGER),
);
const uint32 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 0xffff_ffff }));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

export const arbitraryId = fc.uint8Array({ minLength: 24, maxLength: 24 }).map(invocationIdFromRaw);

export const arbitraryTarget: fc.Arbitrary<Target> = fc.record({
  scope: maybe(text),
  service: text,
  key: maybe(text),
  handler: text,
  serviceType: fc.constantFrom("service", "virtualObject", "workflow"),
  handlerType: fc.constantFrom("exclusive", "shared", "workflow"),
});

const source: fc.Arbitrary<Source> = fc.oneof(
  fc.constant<Source>({ kind: "ingress" }),
  fc.record({ kind: fc.constant("service" as const), callerId: arbitraryId, callerTarget: arbitraryTarget }),
  fc.record({ kind: fc.constant("subscription" as const), subscriptionId: text.map((id) => id as SubscriptionId) }),
  fc.record({ kind: fc.constant("restart" as const), from: arbitraryId }),
);

export const arbitraryFacts: fc.Arbitrary<InvocationFacts> = fc.record({
  id: arbitraryId,
  target: arbitraryTarget,
  source,
  idempotencyKey: maybe(text),
  limitKey: maybe(text),
  priority: fc.integer({ min: 1, max: 5 }),
  requestId: fc.maxSafeNat(),
  createdAtMs: timeMs,
  executionTimeMs: maybe(timeMs),
  completionRetentionMs: timeMs,
  journalRetentionMs: timeMs,
  randomSeed: maybe(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  trace: maybe(fc.record({ traceparent: text, tracestate: maybe(text) })),
  fork: maybe(fc.record({ atEntry: uint32, editedSteps: fc.array(uint32, { maxLength: 3 }) })),
  debounce: maybe(fc.record({ key: text, startByMs: timeMs, sendCount: uint32 })),
  event: maybe(
    fc.record({
      subscriptionId: text.map((id) => id as EventSubscriptionId),
      eventId: text,
      type: fc.constantFrom(...EVENT_TYPES),
    }),
  ),
  bytes: fc.constant(undefined),
});

const failure: fc.Arbitrary<Failure> = fc.record({
  code: uint32,
  message: text,
  metadata: fc.array(fc.record({ key: text, value: text }), { maxLength: 3 }),
});

export const arbitraryOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ kind: fc.constant("success" as const), value: bytes }),
  fc.record({ kind: fc.constant("failure" as const), failure, stacktrace: maybe(text) }),
);

export const arbitraryFuture: fc.Arbitrary<Future> = fc.letrec<{ future: Future }>((tie) => ({
  future: fc.record({
    completions: fc.array(uint32, { maxLength: 3 }),
    signalIndexes: fc.array(uint32, { maxLength: 2 }),
    signalNames: fc.array(text, { maxLength: 2 }),
    nested: fc.oneof(
      { maxDepth: 3, depthIdentifier: "future" },
      fc.constant([]),
      fc.array(tie("future"), { minLength: 1, maxLength: 2 }),
    ),
    combinator: fc.constantFrom(...COMBINATORS),
  }),
})).future;

const sink: fc.Arbitrary<Sink> = fc.record({
  kind: fc.constantFrom("call", "attach"),
  callerId: arbitraryId,
  callerGeneration: maybe(timeMs),
  completionId: uint32,
});
const journal: fc.Arbitrary<JournalProgress> = fc.record({
  length: uint32,
  commands: uint32,
  notifications: uint32,
  outputIndex: fc.integer({ min: -1, max: 0xffff_fffe }),
  hasEvents: fc.boolean(),
});
const milestones: fc.Arbitrary<Milestones> = fc.record({
  scheduledAtMs: maybe(timeMs),
  inboxedAtMs: maybe(timeMs),
  runningAtMs: maybe(timeMs),
  completedAtMs: maybe(timeMs),
  moves: maybe(bytes),
  restoredAtMs: maybe(timeMs),
});

const common = {
  facts: arbitraryFacts,
  modifiedAtMs: timeMs,
  run: fc.maxSafeNat(),
  pinned: maybe(fc.record({ deploymentId: text.map((id) => id as DeploymentId), protocolVersion: fc.constantFrom(5, 6, 7) })),
  journal,
  sinks: fc.array(sink, { maxLength: 3 }),
  milestones,
};

/** An invocation of any status; its numbers need not agree with each other. */
export const arbitraryInvocation: fc.Arbitrary<Invocation> = fc.oneof(
  fc.record({ status: fc.constant("scheduled" as const), ...common }),
  fc.record({
    status: fc.constant("inboxed" as const),
    ...common,
    waitsFor: fc.constant("lock" as const),
    inboxSeq: fc.maxSafeNat(),
  }),
  fc.record({
    status: fc.constant("inboxed" as const),
    ...common,
    waitsFor: fc.constant("slot" as const),
    inboxSeq: fc.constant(0),
  }),
  fc.record({ status: fc.constant("ready" as const), ...common, readyAtMs: timeMs }),
  fc.record({ status: fc.constant("invoked" as const), ...common, pauseRequested: fc.boolean() }),
  fc.record({ status: fc.constant("suspended" as const), ...common, awaiting: arbitraryFuture }),
  fc.record({ status: fc.constant("paused" as const), ...common }),
  fc.record({ status: fc.constant("completed" as const), ...common, outcome: arbitraryOutcome }),
);
