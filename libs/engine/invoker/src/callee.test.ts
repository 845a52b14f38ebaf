import { expect, test } from "@jest/globals";
import { hashString, idempotentInvocationId, PartitionSubset, partitionKeyOf, systemRandom, utf8 } from "@perdure/base";
import type { CallCommand } from "@perdure/service-protocol";
import { VirtualClock } from "@perdure/testkit";
import { resolveCallee } from "./callee.js";
import { aRegistry, someFacts } from "./testing/index.js";

const registry = aRegistry({
  services: { Svc: { handlers: { run: {} } }, Obj: { type: "virtualObject", handlers: { add: {} } } },
});
const preferredPartitions = new PartitionSubset([0, 3, 5, 6], 8); // Of so many an id is drawn almost certainly.
const deps = { registry, clock: new VirtualClock(), random: systemRandom, scopesEnabled: true, preferredPartitions };

function calleeOf(change: Partial<CallCommand>) {
  const command: CallCommand = {
    kind: "call",
    serviceName: "Svc",
    handlerName: "run",
    key: "",
    parameter: utf8("argument"),
    headers: [],
    idempotencyKey: undefined,
    scope: undefined,
    limitKey: undefined,
    invocationIdNotificationIdx: 1,
    resultCompletionId: 2,
    name: "",
    ...change,
  };
  const callee = resolveCallee(someFacts(), command, deps);
  if ("kind" in callee) throw new Error(callee.code);
  return callee.facts.id;
}

test("a callee that may be in any partition is in a preferred one", () => {
  for (let n = 0; n < 20; n++) expect(preferredPartitions.hasId(calleeOf({}))).toBe(true);
});

test("callees with a key, a scope or an idempotency key are where these put them", () => {
  expect(partitionKeyOf(calleeOf({ serviceName: "Obj", handlerName: "add", key: "k" }))).toBe(hashString("k"));
  expect(partitionKeyOf(calleeOf({ scope: "s" }))).toBe(hashString("s"));
  const target = { service: "Svc", key: undefined, handler: "run" };
  expect(calleeOf({ idempotencyKey: "i" })).toBe(idempotentInvocationId(target, "i"));
});
