/** Rows that only workers hold keep every value on their way, and unknown values are refused. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { newInvocationId, newSubscriptionId, type Random, vqueueId } from "@perdure/base";
import type { FlowBlock, FlowWait } from "@perdure/flow-control";
import type { InvokerStatus } from "@perdure/invoker";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import type { FieldCodec } from "../src/codec/form.js";
import { fromJson, toJson } from "../src/codec/json.js";
import * as codec from "../src/codec/workers.js";
import * as proto from "../src/gen/v1/workers_pb.js";
import { checkedV01 } from "../src/v01/checked.js";

const random: Random = new SeededRandom(16);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const text = fc.string();
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const small = fc.nat({ max: 0xffff_ffff });
const real = fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 });
const flag = fc.boolean();
const partitionKey = fc.bigInt(0n, 2n ** 64n - 1n);
const invocationId = fc.constant(0).map(() => newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, random));
const queueId = fc.string().map((lock) => vqueueId({ service: "S", scope: undefined, limitKey: undefined, lockKey: lock }));
const level = fc.constantFrom("Scope", "Level1", "Level2");

const attempt: fc.Arbitrary<InvokerStatus> = fc.record({
  id: invocationId,
  inFlight: flag,
  retryCount: count,
  lastStartAtMs: maybe(count),
  nextRetryAtMs: maybe(real),
  lastAttemptDeploymentId: maybe(text),
  lastAttemptServer: maybe(text),
  lastFailure: maybe(
    fc.record({
      errorCode: text,
      code: small,
      message: text,
      stacktrace: maybe(text),
      relatedCommandIndex: maybe(small),
      relatedCommandName: maybe(text),
      relatedCommandType: maybe(small),
    }),
  ),
  lastAwaitingJson: maybe(text),
  slotWait: maybe(fc.record({ service: text, isContinuation: flag, sinceMs: count })),
  endpointAnswer: maybe(fc.constantFrom("nothing", "headers", "messages")),
});
const block: fc.Arbitrary<FlowBlock> = fc.oneof(
  fc.constant<FlowBlock>({ kind: "paused" }),
  fc.record({ kind: fc.constant("concurrency" as const), level, rule: text, limit: count }),
  fc.record({ kind: fc.constant("rate" as const), level, rule: text, untilMs: real }),
  fc.record({ kind: fc.constant("lock" as const), lockName: text, holder: maybe(invocationId) }),
);
const wait: fc.Arbitrary<FlowWait> = fc.record({
  scope: text,
  limitKey: maybe(text),
  sinceMs: count,
  levels: fc.array(
    fc.record({
      name: text,
      rule: text,
      used: count,
      limit: maybe(count),
      waiting: count,
      nextAtMs: maybe(real),
      isFull: flag,
    }),
  ),
  isQueuePaused: flag,
  place: count,
});
const subscription: fc.Arbitrary<SubscriptionStatus> = fc.record({
  id: fc.constant(0).map(() => newSubscriptionId(1, random)),
  state: fc.constantFrom("starting", "consuming", "backingOff", "paused", "noCluster"),
  assigned: fc.array(small),
  positions: fc.array(fc.record({ partition: small, next: count, lag: count })),
  stuck: maybe(fc.record({ partition: small, offset: count, reason: text })),
  lastFailure: maybe(text),
  nextRetryAtMs: maybe(real),
  handledCount: count,
});

function keeps<T, Schema extends DescMessage>(
  values: fc.Arbitrary<T>,
  schema: Schema,
  form: FieldCodec<T, MessageShape<Schema>>,
): void {
  fc.assert(
    fc.property(values, (value) => {
      expect(form.from(fromBinary(schema, toBinary(schema, form.to(value))))).toEqual(value);
      expect(checkedV01(schema, form, fromJson(toJson(value)), "a value")).toEqual(value);
    }),
    { numRuns: 50 },
  );
}

describe("messages, and the form of v0.1, keep", () => {
  test("attempts", () => {
    keeps(attempt, proto.AttemptStatusSchema, codec.attempt);
  });

  test("queues, entries, limits, buckets and waits", () => {
    const queue = fc.record({
      partitionKey,
      id: queueId,
      service: maybe(text),
      scope: maybe(text),
      limitKey: maybe(text),
      lockName: maybe(text),
      paused: flag,
      createdAtMs: count,
      lastEnqueuedAtMs: maybe(count),
      lastStartAtMs: maybe(count),
      inboxCount: count,
      runningCount: count,
      suspendedCount: count,
      pausedCount: count,
      head: maybe(fc.record({ entryId: text, blockedOn: maybe(block), sinceMs: count })),
    });
    keeps(queue, proto.FlowQueueSchema, codec.queue);
    const entry = fc.record({
      partitionKey,
      queueId,
      entryId: text,
      entryKind: fc.constantFrom("invocation", "state-mutation"),
      stage: fc.constantFrom("inbox", "running", "suspended", "paused"),
      status: fc.constantFrom("new", "scheduled", "started"),
      hasLock: flag,
      runAtMs: maybe(count),
      sequence: real,
      priority: small,
      createdAtMs: count,
      transitionedAtMs: count,
      firstStartAtMs: maybe(count),
      runCount: count,
      deploymentId: maybe(text),
    });
    keeps(entry, proto.FlowEntrySchema, codec.queueEntry);
    const names = { partitionKey, scope: text, l1: maybe(text), l2: maybe(text) };
    const limit = { level, usage: count, limit: maybe(count), rule: maybe(text), waiterCount: count };
    keeps(fc.record({ ...names, ...limit }), proto.FlowLimitSchema, codec.limit);
    const rate = fc.record({ limit: real, periodMs: real, burst: real });
    keeps(fc.record({ ...names, rule: text, rate, available: real }), proto.FlowBucketSchema, codec.bucket);
    keeps(wait, proto.FlowWaitSchema, codec.flowWait);
  });

  test("workers, subscriptions and usage", () => {
    const leading = fc.array(fc.record({ partition: small, epoch: count, sinceMs: count, leaseExpiresAtMs: maybe(count) }));
    const worker = fc.record({ id: text, version: text, startedAtMs: count, isDraining: flag, leading });
    keeps(worker, proto.WorkerStatusSchema, codec.worker);
    keeps(subscription, proto.SubscriptionStatusSchema, codec.subscriptionStatus);
    const unfinishedByService = fc.array(fc.tuple(text, count)).map((entries) => new Map(entries));
    keeps(fc.record({ pinned: count, unfinishedByService }), proto.CountUsageResponseSchema, codec.usage);
  });

  test("traffic, which v0.1 did not count", () => {
    const counts = {
      periodMs: count,
      startsAtMs: count,
      durationMsMax: maybe(count),
      created: count,
      completed: count,
      failed: count,
    };
    fc.assert(
      fc.property(fc.record({ ...counts, service: text }), (row) => {
        const bytes = toBinary(proto.TrafficCountSchema, codec.trafficCount.to(row));
        expect(codec.trafficCount.from(fromBinary(proto.TrafficCountSchema, bytes))).toEqual(row);
      }),
    );
  });

  test("nothing that no type has", () => {
    const [status] = fc.sample(attempt, { numRuns: 1, seed: 16 });
    const message = codec.attempt.to(status as InvokerStatus);
    expect(() => codec.attempt.from({ ...message, invocationId: "inv_1" })).toThrow("[OPS0003]");
    expect(() => codec.attempt.from({ ...message, endpointAnswer: 9 as never })).toThrow("[OPS0003]");
  });
});
