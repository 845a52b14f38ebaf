import { describe, expect, test } from "@jest/globals";
import type { SubscriptionId } from "@perdure/base";
import type { HandlerView, RegistrySnapshot } from "@perdure/control";
import type { Invoke, ServiceType } from "@perdure/state-machine";
import { invocationOfRecord, PoisonRecord } from "./invocation-of-record.js";
import type { SourceRecord } from "./ports.js";

const HANDLER_TYPES = { service: "shared", virtualObject: "exclusive", workflow: "workflow" } as const;

function registryWith(serviceType: ServiceType): RegistrySnapshot {
  // Retention and identity of a handler: the conversion of a record reads no other fields.
  const handler = { serviceType, handlerType: HANDLER_TYPES[serviceType] } as HandlerView;
  const service = { name: "Svc", serviceType, revision: 1, handlers: new Map([["take", handler]]) };
  return { services: new Map([["Svc", service]]), deployments: new Map(), rules: [] } as unknown as RegistrySnapshot;
}

function invocationOf(record: Partial<SourceRecord>, serviceType: ServiceType = "service", scopesEnabled = true): Invoke {
  const subscription = {
    id: "sub_11rinZZNEJFVX7J4F1fp0YN" as SubscriptionId,
    source: "kafka://k1/t",
    sink: "service://Svc/take",
    options: {},
    paused: false,
    skipped: [],
  };
  const whole = {
    topic: "t",
    partition: 0,
    offset: 7,
    timestampMs: undefined,
    key: undefined,
    value: new Uint8Array(),
    ...record,
  };
  return invocationOfRecord(subscription, whole, { registry: registryWith(serviceType), nowMs: 0, scopesEnabled });
}

describe("headers of a record", () => {
  test("set scope and limit key, and the scope is part of the invocation's id", () => {
    const plain = invocationOf({});
    const scoped = invocationOf({ scope: "acme", limitKey: "tenant1/ann" });
    expect(scoped.facts).toMatchObject({ target: { scope: "acme" }, limitKey: "tenant1/ann" });
    expect(scoped.id).not.toBe(plain.id);
    expect(invocationOf({ scope: "acme" }).id).toBe(scoped.id);
  });

  test("name the run of a workflow in its scope", () => {
    const key = new TextEncoder().encode("w");
    const runs = [undefined, "red", "blue"].map((scope) => invocationOf({ key, scope }, "workflow").id);
    expect(new Set(runs).size).toBe(3);
  });

  test("are ignored unless the feature is on, also bad ones", () => {
    const ignoring = invocationOf({ scope: "a b", limitKey: "x" }, "virtualObject", false);
    expect(ignoring.facts).toMatchObject({ target: { scope: undefined }, limitKey: undefined });
    expect(invocationOf({ scope: "" }).facts.target.scope).toBeUndefined();
  });

  test.each<[Partial<SourceRecord>, ServiceType, string]>([
    [{ limitKey: "x" }, "service", "the record names a limit key without a scope"],
    [{ scope: "acme" }, "virtualObject", "the record names a scope; virtual objects have none"],
    [{ scope: "a b" }, "service", "value contains characters outside the allowed set"],
    [{ scope: "a", limitKey: "x/y/z" }, "service", "too many path components"],
  ])("that cannot be used make it poison: %j to a %s", (record, serviceType, reason) => {
    expect(() => invocationOf(record, serviceType)).toThrow(PoisonRecord);
    expect(() => invocationOf(record, serviceType)).toThrow(reason);
  });
});
