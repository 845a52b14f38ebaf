/** The precedence of options of a handler, from its manifest to the data path. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { SERVICE_DEFAULTS } from "./defaults.js";
import { aWireService, createTestRegistry } from "./testing/index.js";
import { overrides, RegistryWorld } from "./testing/world.js";

let world: RegistryWorld;
beforeEach(async () => {
  world = await RegistryWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe("options", () => {
  const manifest = [
    {
      name: "S",
      ty: "WORKFLOW",
      inactivityTimeout: 1000,
      journalRetention: 5000,
      retryPolicyMaxAttempts: 3,
      retryPolicyOnMaxAttempts: "KILL",
      enableLazyState: true,
      handlers: [
        { name: "run", ty: "WORKFLOW", workflowCompletionRetention: 7000 },
        {
          name: "tuned",
          inactivityTimeout: 2000,
          idempotencyRetention: 3000,
          retryPolicyMaxAttempts: 9,
          enableLazyState: false,
          ingressPrivate: true,
        },
      ],
    },
  ];
  const handler = (name: string) => world.registry.current().services.get("S")?.handlers.get(name);

  test("handler goes before service, service before server", async () => {
    await world.register((await world.endpointOf(manifest)).uri);
    expect(handler("run")).toMatchObject({
      handlerType: "workflow",
      public: true,
      inactivityTimeoutMs: 1000,
      abortTimeoutMs: SERVICE_DEFAULTS.abortTimeoutMs,
      journalRetentionMs: 5000,
      workflowRetentionMs: 7000,
      idempotencyRetentionMs: SERVICE_DEFAULTS.idempotencyRetentionMs,
      enableLazyState: true,
      retryPolicy: { ...SERVICE_DEFAULTS.retryPolicy, maxAttempts: 3, onMaxAttempts: "kill" },
    });
    expect(handler("tuned")).toMatchObject({
      handlerType: "shared",
      public: false,
      inactivityTimeoutMs: 2000,
      idempotencyRetentionMs: 3000,
      enableLazyState: false,
      retryPolicy: { maxAttempts: 9, onMaxAttempts: "kill" },
    });
  });

  test("a change by an operator ranks between handler and manifest, and ends with the next registration", async () => {
    const endpoint = await world.endpointOf(manifest);
    await world.register(endpoint.uri);
    const before = world.registry.current();
    await world.registry.modifyService(
      "S",
      overrides({ inactivityTimeoutMs: 50, workflowCompletionRetentionMs: 60, journalRetentionMs: 0 }),
    );
    await world.registry.modifyService("S", overrides({ public: false }));
    expect(handler("run")).toMatchObject({
      inactivityTimeoutMs: 50,
      workflowRetentionMs: 60,
      journalRetentionMs: 0,
      public: false,
    });
    expect(handler("tuned")).toMatchObject({ inactivityTimeoutMs: 2000, public: false });
    expect(before.services.get("S")?.handlers.get("run")?.public).toBe(true); // A snapshot never changes.
    await world.register(endpoint.uri, { force: true });
    expect(handler("run")).toMatchObject({ inactivityTimeoutMs: 1000, public: true });
  });

  test("an option of workflows is refused elsewhere, an unknown service is 404, and nothing is not a change", async () => {
    await world.register((await world.endpointOf([aWireService("P", ["h"])])).uri);
    await expect(world.registry.modifyService("P", overrides({ workflowCompletionRetentionMs: 1 }))).rejects.toMatchObject({
      status: 400,
    });
    await expect(world.registry.modifyService("Nope", overrides({}))).rejects.toMatchObject({ status: 404 });
    expect((await world.registry.modifyService("P", overrides({}))).revision).toBe(world.registry.service("P")?.revision);
  });

  test("request-response mode has no inactivity timeout, and RT0021 reports a requested one", async () => {
    await world.register((await world.endpointOf(manifest, { protocolMode: "REQUEST_RESPONSE" })).uri);
    const located = world.registry.service("S");
    expect(handler("run")?.inactivityTimeoutMs).toBe(0);
    expect(located && world.registry.effective(located).notices.map(({ code }) => code)).toEqual(["RT0021"]);
  });

  test("caps of the server apply to all levels, and RT0022 reports them", async () => {
    world.registry = await createTestRegistry({
      options: { defaults: { ...SERVICE_DEFAULTS, journalRetentionMaxMs: 4000, maxAttemptsMax: 2 } },
    });
    await world.register((await world.endpointOf(manifest)).uri);
    expect(handler("run")).toMatchObject({ journalRetentionMs: 4000, retryPolicy: { maxAttempts: 2 } });
    expect(handler("tuned")?.retryPolicy.maxAttempts).toBe(2);
    const located = world.registry.service("S");
    expect(located && world.registry.effective(located).notices.map(({ code }) => code)).toEqual(["RT0022"]);
  });
});
