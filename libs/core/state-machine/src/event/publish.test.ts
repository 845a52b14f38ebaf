import { describe, expect, test } from "@jest/globals";
import { type EventSubscriptionId, fromUtf8, type InvocationId } from "@perdure/base";
import { decodeCommand, isFault, MessageType } from "@perdure/service-protocol";
import type { Invoke, PartitionCommand } from "../command.js";
import type { InvocationFacts } from "../invocation.js";
import {
  anId,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  scopedTarget,
  someFacts,
} from "../testing/index.js";
import { EVENT_TYPES, type EventSubscription } from "./subscription.js";

const ID = anId(1);
const NO_FILTER = { service: undefined, handler: undefined, scope: undefined };

function aSubscription(change: Partial<EventSubscription> = {}): EventSubscription {
  return {
    id: "evs_15ChR1PDwZt22Rn2lfZrRo5" as EventSubscriptionId,
    types: EVENT_TYPES,
    filter: NO_FILTER,
    target: { service: "Alerts", handler: "receive" },
    ...change,
  };
}

function partitionWith(...subscriptions: readonly EventSubscription[]): MemoryPartition {
  const partition = new MemoryPartition();
  partition.eventSubscriptions = subscriptions;
  return partition;
}

const deliveriesIn = (sent: readonly PartitionCommand[]): readonly Invoke[] =>
  sent.filter((command) => command.kind === "invoke");

function eventOf({ input }: Invoke): Readonly<Record<string, unknown>> {
  const decoded = decodeCommand(MessageType.Input, input);
  if (isFault(decoded) || decoded.kind !== "input") throw new Error("no input");
  return JSON.parse(fromUtf8(decoded.value));
}

/** Starts an invocation, ends it, and returns what it sent. */
function succeed(partition: MemoryPartition, change: Partial<InvocationFacts> = {}): readonly Invoke[] {
  const facts = someFacts({ id: ID, ...change });
  partition.play(invokeOf(facts));
  partition.play(outputOf(facts.id, 1, "result"));
  return deliveriesIn(partition.play(endOf(facts.id, 1)).sent);
}

describe("an event about the end of an invocation", () => {
  test("is an invocation of the target, locked by its subject, with an id that follows from the event", () => {
    const [delivery, ...others] = succeed(partitionWith(aSubscription()), { target: objectTarget("k") });
    expect(others).toEqual([]);
    expect(delivery?.facts).toMatchObject({
      target: { service: "Alerts", key: `evs_15ChR1PDwZt22Rn2lfZrRo5.${ID}`, handler: "receive", handlerType: "exclusive" },
      event: { subscriptionId: "evs_15ChR1PDwZt22Rn2lfZrRo5", type: "invocation.completed" },
    });
    expect(eventOf(delivery as Invoke)).toEqual({
      specversion: "1.0",
      id: delivery?.facts.event?.eventId,
      source: "perdure",
      type: "invocation.completed",
      time: "1970-01-01T00:00:01.000Z",
      subject: ID,
      datacontenttype: "application/json",
      data: { target: "O/k/h", service: "O", key: "k", handler: "h", created_at: "1970-01-01T00:00:01.000Z", runs: 1 },
    });
    const [again] = succeed(partitionWith(aSubscription()), { target: objectTarget("k") });
    expect(again?.id).toBe(delivery?.id);
  });

  test("has the failure, and no result", () => {
    const partition = partitionWith(aSubscription());
    partition.play(invokeOf(someFacts({ id: ID })));
    const [delivery] = deliveriesIn(partition.play(failOf(ID, 1, "kill")).sent);
    expect(eventOf(delivery as Invoke)).toMatchObject({
      type: "invocation.failed",
      data: { failure: { code: expect.any(Number), message: expect.any(String) } },
    });
  });

  test("is published once for each subscription, with one id", () => {
    const other = "evs_15ChR1PDwZt22Rn2lfZrRo6" as EventSubscriptionId;
    const deliveries = succeed(partitionWith(aSubscription(), aSubscription({ id: other })));
    expect(new Set(deliveries.map(({ id }) => id)).size).toBe(2);
    expect(new Set(deliveries.map(({ facts }) => facts.event?.eventId)).size).toBe(1);
  });

  test("is published for an invocation that is killed before it starts", () => {
    const partition = partitionWith(aSubscription());
    partition.play(invokeOf(someFacts({ id: ID, executionTimeMs: 5_000 })));
    const deliveries = deliveriesIn(partition.play({ kind: "kill", id: ID }).sent);
    expect(deliveries.map(({ facts }) => facts.event?.type)).toEqual(["invocation.failed"]);
  });
});

test("each pause is an event of its own", () => {
  const partition = partitionWith(aSubscription());
  partition.play(invokeOf(someFacts({ id: ID })));
  const first = deliveriesIn(partition.play(failOf(ID, 1, "pause")).sent);
  partition.play({ kind: "resume", id: ID, moveTo: undefined });
  const second = deliveriesIn(partition.play(failOf(ID, 2, "pause")).sent);
  const ids = [...first, ...second].map(({ facts }) => facts.event?.eventId);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(2);
});

describe("a subscription", () => {
  const scoped = { target: scopedTarget("acme"), limitKey: undefined };
  test.each([
    ["its types", { types: ["invocation.failed"] }, 0],
    ["the service", { filter: { ...NO_FILTER, service: "S" } }, 1],
    ["another service", { filter: { ...NO_FILTER, service: "T" } }, 0],
    ["another handler", { filter: { ...NO_FILTER, handler: "i" } }, 0],
    ["the scope", { filter: { ...NO_FILTER, scope: "acme" } }, 1],
    ["another scope", { filter: { ...NO_FILTER, scope: "other" } }, 0],
  ] as const)("is restricted to %s", (_what, change, count) => {
    expect(succeed(partitionWith(aSubscription(change)), scoped)).toHaveLength(count);
  });
});

test("deliveries, and what their handlers invoke, produce no events", () => {
  const partition = partitionWith(aSubscription());
  const [delivery] = succeed(partition) as readonly [Invoke];
  partition.play(delivery);
  partition.play(outputOf(delivery.id, 1, "received"));
  expect(deliveriesIn(partition.play(endOf(delivery.id, 1)).sent)).toEqual([]);
  const child = { id: anId(2) as InvocationId, event: delivery.facts.event };
  expect(succeed(partition, child)).toEqual([]);
});

test("a repeated delivery of one event is one invocation", () => {
  const partition = partitionWith(aSubscription());
  const [delivery] = succeed(partition) as readonly [Invoke];
  partition.play(delivery);
  expect(partition.play(delivery).effects).toEqual([
    { kind: "reply", answer: { kind: "previouslyAccepted", invocation: partition.invocation(delivery.id) } },
  ]);
});
