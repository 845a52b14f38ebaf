import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { EventSubscriptionId } from "@perdure/base";
import { createMemoryMetadataStore, type EventSubscriptionRequest, emptyMemoryMetadata } from "@perdure/metadata";
import { WEBHOOK_SERVICE } from "@perdure/state-machine";
import type { RegistryRole } from "./registry.js";
import {
  aManifest,
  aRegisterRequest,
  aRuleChange,
  aWireService,
  createTestRegistry,
  startEndpoint,
  type TestEndpoint,
} from "./testing/index.js";

const NO_FILTER = { service: undefined, handler: undefined, scope: undefined };
const request = (destination: EventSubscriptionRequest["destination"]): EventSubscriptionRequest => ({
  types: ["invocation.failed", "invocation.failed"],
  filter: NO_FILTER,
  destination,
  description: undefined,
});
const webhook = (url: string) => request({ kind: "webhook", url });

let registry: RegistryRole;
beforeEach(async () => {
  registry = await createTestRegistry();
});

describe("a webhook", () => {
  test("gets a secret, and with a rotation a second one beside the first", async () => {
    const made = await registry.createEventSubscription(webhook("https://hooks.example/a"));
    const [first] = made.webhook?.secrets ?? [];
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    expect(made).toMatchObject({ types: ["invocation.failed"], target: { service: WEBHOOK_SERVICE, handler: made.id } });
    const [second, kept] = (await registry.rotateEventSecret(made.id)).webhook?.secrets ?? [];
    expect(kept).toBe(first);
    const third = (await registry.rotateEventSecret(made.id)).webhook?.secrets ?? [];
    expect(third.slice(1)).toEqual([second]);
    expect(registry.current().events).toEqual(registry.eventSubscriptions());
  });

  test("has only its present secret after the old one is revoked, also when that is repeated", async () => {
    const made = await registry.createEventSubscription(webhook("https://hooks.example/a"));
    expect((await registry.revokeOldEventSecret(made.id)).webhook?.secrets).toEqual(made.webhook?.secrets);
    const [present] = (await registry.rotateEventSecret(made.id)).webhook?.secrets ?? [];
    for (let i = 0; i < 2; i++) expect((await registry.revokeOldEventSecret(made.id)).webhook?.secrets).toEqual([present]);
    expect(registry.current().events?.[0]?.webhook?.secrets).toEqual([present]);
  });

  test.each([
    "ftp://hooks.example/",
    "hooks.example",
    "https://a:b@hooks.example/",
    "https://hooks.example/#a",
    "https://hooks.example/services/***",
    "https://hooks.example/in?token=***",
  ])("is refused at %s", async (url) => {
    await expect(registry.createEventSubscription(webhook(url))).rejects.toMatchObject({ status: 400, code: "META0103" });
  });
});

describe("a handler", () => {
  let endpoint: TestEndpoint;
  beforeEach(async () => {
    const handlers = [
      { name: "add", ty: "EXCLUSIVE" },
      { name: "get", ty: "SHARED" },
    ];
    const counter = { name: "Counter", ty: "VIRTUAL_OBJECT", handlers };
    endpoint = await startEndpoint("h2c", { body: aManifest([aWireService("Greeter", ["greet"]), counter]) });
    await registry.register(aRegisterRequest(endpoint.uri), new AbortController().signal);
  });
  afterEach(async () => endpoint[Symbol.asyncDispose]());

  test.each([
    ["Greeter", "greet", true],
    ["Counter", "add", true],
    ["Counter", "get", false],
    ["Greeter", "missing", false],
    ["Missing", "greet", false],
  ])("%s/%s can receive events: %s", async (service, handler, isValid) => {
    const made = registry.createEventSubscription(request({ kind: "handler", target: { service, handler } }));
    if (isValid) {
      expect(await made).toMatchObject({ target: { service, handler }, webhook: undefined });
      const { id } = await made;
      await expect(registry.revokeOldEventSecret(id)).rejects.toMatchObject({ status: 400, code: "META0103" });
    } else await expect(made).rejects.toMatchObject({ status: 400, code: "META0103" });
  });
});

test("subscriptions are the same value until one of them changes, also for a registry that reads them again", async () => {
  const memory = emptyMemoryMetadata();
  const one = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
  const made = await one.createEventSubscription(webhook("https://hooks.example/a"));
  await one.createEventSubscription(webhook("https://hooks.example/b"));
  const { events } = one.current();
  const other = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
  const ofOther = other.current().events;
  await one.putRules([aRuleChange({ pattern: "scope-a" })]);
  expect(one.current().events).toBe(events);
  await other.putRules([aRuleChange({ pattern: "scope-b" })]); // Reads what the first registry has written meanwhile.
  expect(other.current().rules.length).toBe(2);
  expect(other.current().events).toBe(ofOther);
  await one.rotateEventSecret(made.id);
  expect(one.current().events).not.toBe(events);
});

test("subscriptions are stored, and gone when they are removed", async () => {
  const memory = emptyMemoryMetadata();
  const one = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
  const made = await one.createEventSubscription(webhook("https://hooks.example/a"));
  const other = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
  expect(other.eventSubscriptions()).toEqual([made]);
  await other.removeEventSubscription(made.id);
  expect(other.current().events).toBeUndefined();
  const unknown = "evs_15ChR1PDwZt22Rn2lfZrRo5" as EventSubscriptionId;
  await expect(other.removeEventSubscription(unknown)).rejects.toMatchObject({ status: 404 });
});
