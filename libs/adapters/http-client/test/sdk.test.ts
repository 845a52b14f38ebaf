import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { newInvocationId, Secret, systemClock, systemRandom, utf8 } from "@perdure/base";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { aTarget, someFacts } from "@perdure/invoker/testing";
import { cancelSignalId, MessageType } from "@perdure/service-protocol";
import * as restate from "@restatedev/restate-sdk";
import { serveSdk } from "./sdk-endpoint.js";
import { aWorld, json, resultOf } from "./world.js";

let failing = 0;
const counters: { aborted: number } = { aborted: 0 };

/** What `calls` calls. */
const self = restate.service({ name: "Svc", handlers: { echo: async (_ctx: restate.Context, value: unknown) => value } });

const sdkServices = [
  restate.service({
    name: "Svc",
    handlers: {
      echo: async (_ctx: restate.Context, value: unknown) => value,
      steps: async (ctx: restate.Context) => {
        const one = await ctx.run("one", () => 1);
        const two = await ctx.run("two", () => one + 1);
        await ctx.sleep(5);
        return two + (await ctx.run("three", () => 3));
      },
      nap: async (ctx: restate.Context, ms: number) => {
        await ctx.sleep(ms);
        return "slept";
      },
      largeStep: async (ctx: restate.Context) => (await ctx.run("large", () => "x".repeat(40 << 20))).length,
      flaky: async () => {
        if (failing-- > 0) throw new Error("not yet");
        return "at last";
      },
      terminal: async () => {
        throw new restate.TerminalError("for good", { errorCode: 418 });
      },
      forever: async (ctx: restate.Context) => {
        ctx.request().attemptCompletedSignal.addEventListener("abort", () => counters.aborted++);
        await new Promise(() => {});
      },
      calls: async (ctx: restate.Context) => ctx.serviceClient<typeof self>({ name: "Svc" }).echo("x"),
      random: async (ctx: restate.Context) => ctx.rand.random(),
    },
  }),
  restate.object({
    name: "Obj",
    handlers: {
      add: async (ctx: restate.ObjectContext, amount: number) => {
        const sum = ((await ctx.get<number>("sum")) ?? 0) + amount;
        ctx.set("sum", sum);
        return { sum, keys: await ctx.stateKeys(), key: ctx.key };
      },
    },
  }),
];
const handler = { inactivityTimeoutMs: 60_000 };
const services = {
  Svc: {
    handlers: {
      echo: {},
      largeStep: {},
      steps: {},
      nap: { inactivityTimeoutMs: 50 },
      flaky: {},
      terminal: {},
      forever: {},
      calls: {},
      random: {},
    },
  },
  Obj: { type: "virtualObject", handlers: { add: handler, lazy: { enableLazyState: true } } },
} as const;

const svc = (name: string) => someFacts({ target: aTarget({ handler: name }) });
const obj = (key: string) =>
  someFacts({ target: aTarget({ service: "Obj", key, handler: "add", serviceType: "virtualObject", handlerType: "exclusive" }) });

describe("with the TypeScript SDK", () => {
  test.each([
    [5, 2, true],
    [6, 2, true],
    [7, 2, true],
    [6, 1, true],
    [6, 2, false],
    [7, 2, false],
    [6, 1, false],
  ] as const)(
    "runs, sleeps and results work on protocol %i over HTTP/%i, bidirectional: %s",
    async (version, http, bidirectional) => {
      await using endpoint = await serveSdk(sdkServices, { http, bidirectional });
      await using world = aWorld(
        endpoint.uri,
        { services, maxProtocolVersion: version, protocolType: bidirectional ? "bidiStream" : "requestResponse" },
        { http, options: { protocolVersionMax: 7 } },
      );
      const invocation = world.partition.invoke(svc("steps"), json(null));
      expect(await resultOf(world, invocation)).toBe(5);
      expect(invocation.failures).toEqual([]);
      expect(invocation.pinned?.protocolVersion).toBe(version);
      if (bidirectional) expect(invocation.run).toBe(1);
      else expect(invocation.run).toBeGreaterThan(3);
    },
  );

  test("a handler that waits for longer than the inactivity timeout suspends and is resumed", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    const invocation = world.partition.invoke(svc("nap"), json(250));
    await world.partition.until(() => invocation.status === "suspended");
    expect(await resultOf(world, invocation)).toBe("slept");
    expect(invocation.run).toBe(2);
  });

  test("an object's state is sent eagerly and requested lazily", async () => {
    await using endpoint = await serveSdk(sdkServices);
    for (const eagerStateBytesMax of [1_000, 0]) {
      await using world = aWorld(endpoint.uri, { services }, { options: { eagerStateBytesMax } });
      for (const [amount, sum] of [
        [2, 2],
        [3, 5],
      ]) {
        const invocation = world.partition.invoke(obj("a key/ü"), json(amount));
        expect(await resultOf(world, invocation)).toEqual({ sum, keys: ["sum"], key: "a key/ü" });
        const readsLazily = invocation.entries.some(({ type }) => type === MessageType.GetLazyState);
        expect(readsLazily).toBe(eagerStateBytesMax === 0);
      }
    }
  });

  test("errors are retried until the handler succeeds, terminal ones are results", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    failing = 2;
    const flaky = world.partition.invoke(svc("flaky"), json(null));
    expect(await resultOf(world, flaky)).toBe("at last");
    expect(flaky.failures.map(({ error }) => `${error.errorCode} ${error.message}`)).toEqual([
      "RT0007 not yet",
      "RT0007 not yet",
    ]);
    expect(flaky.failures[0]?.error.stacktrace).toContain("not yet");
    expect(await resultOf(world, world.partition.invoke(svc("terminal"), json(null)))).toBe("418 for good");
  });

  test("a call gets its callee's id at once and its result later", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    const caller = world.partition.invoke(svc("calls"), json(null));
    await world.partition.until(() => caller.entries.some(({ type }) => type === MessageType.CallInvocationIdCompletion));
    const call = caller.commands.find((command) => command.kind === "appendCommand" && command.action.kind === "call");
    if (call?.kind !== "appendCommand" || call.action.kind !== "call") throw new Error("it calls");
    world.partition.complete(caller.facts.id, MessageType.CallCompletion, call.action.resultCompletionId, {
      kind: "value",
      value: json("answer"),
    });
    expect(await resultOf(world, caller)).toBe("answer");
  });

  test("cancelling reaches the handler", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    const caller = world.partition.invoke(svc("calls"), json(null));
    await world.partition.until(() => caller.entries.some(({ type }) => type === MessageType.CallInvocationIdCompletion));
    world.partition.signal(caller.facts.id, cancelSignalId, { kind: "void" });
    expect(await resultOf(world, caller)).toMatch(/^409 /);
    expect(caller.entries.some(({ type }) => type === MessageType.SendSignal)).toBe(true);
  });

  test("kill breaks the stream the handler runs on", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    counters.aborted = 0;
    const invocation = world.partition.invoke(svc("forever"), json(null));
    while (world.invoker.status(invocation.facts.id)?.lastAttemptServer === undefined)
      await new Promise<void>((resolve) => setTimeout(resolve, 5));
    world.partition.kill(invocation.facts.id);
    while (counters.aborted === 0) await new Promise<void>((resolve) => setTimeout(resolve, 5));
    expect(invocation.commands).toEqual([]);
  });

  test("the seed of randomness is the same in every attempt and differs between invocations", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    const id = newInvocationId(aTarget({ handler: "random" }), 1, systemRandom);
    const draw = async (facts: ReturnType<typeof svc>) => resultOf(world, world.partition.invoke(facts, json(null)));
    const first = await draw({ ...svc("random"), id });
    expect(await draw({ ...svc("random"), id })).toBe(first);
    expect(await draw(svc("random"))).not.toBe(first);
    expect(await draw({ ...svc("random"), randomSeed: 1n })).not.toBe(first);
  });

  test("many at once share a few connections, payloads of megabytes pass, and too large ones are RT0003", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services }, { options: { messageBytesMax: 8 << 20 } });
    const many = Array.from({ length: 400 }, (_, i) => world.partition.invoke(svc("echo"), json(i)));
    for (const [i, invocation] of many.entries()) expect(await resultOf(world, invocation)).toBe(i);
    const large = "x".repeat(6 << 20);
    expect(await resultOf(world, world.partition.invoke(svc("echo"), json(large)))).toBe(large);
    const tooLarge = world.partition.invoke(svc("echo"), json("y".repeat(9 << 20)));
    await world.partition.until(() => tooLarge.failures.length > 0);
    expect(tooLarge.failures[0]?.error.errorCode).toBe("RT0003");
  });

  test("a handler whose step is too large costs other calls on the same endpoint no attempt", async () => {
    await using endpoint = await serveSdk(sdkServices);
    await using world = aWorld(endpoint.uri, { services });
    const large = world.partition.invoke(svc("largeStep"), json(null));
    const innocent = [];
    while (large.failures.length === 0) {
      innocent.push(world.partition.invoke(svc("echo"), json(innocent.length)));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (let i = 0; i < 32; i++) innocent.push(world.partition.invoke(svc("echo"), json(innocent.length)));
    for (const [i, invocation] of innocent.entries()) expect(await resultOf(world, invocation)).toBe(i);
    expect(innocent.flatMap(({ failures }) => failures.map(({ error }) => error.message))).toEqual([]);
    expect(large.failures[0]?.error.errorCode).toBe("RT0003");
  });

  test("an endpoint with the public key of the server accepts the server and no other client", async () => {
    const pem = () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const identity = createRequestIdentity(new Secret(pem()), systemClock);
    const unknownIdentity = createRequestIdentity(new Secret(pem()), systemClock);
    await using endpoint = await serveSdk(sdkServices, { identityKeys: [identity.publicKey] });
    await using trusted = aWorld(endpoint.uri, { services }, { deps: { identity } });
    expect(await resultOf(trusted, trusted.partition.invoke(svc("echo"), json("hello")))).toBe("hello");
    for (const deps of [{ identity: unknownIdentity }, {}]) {
      await using world = aWorld(endpoint.uri, { services }, { deps });
      const refused = world.partition.invoke(svc("echo"), utf8(""));
      await world.partition.until(() => refused.failures.length > 0);
      expect(refused.failures[0]?.error).toMatchObject({
        errorCode: "RT0012",
        message: "unexpected HTTP status 401 from the endpoint",
      });
    }
  });
});
