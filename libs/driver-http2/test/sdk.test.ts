import { describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { createInvoker, type Invoker, type InvokerDeps } from "@perdure/invoker";
import { aRegistry, aTarget, FakePartition, someFacts, type TestDeployment } from "@perdure/invoker/testing";
import * as restate from "@restatedev/restate-sdk";
import { createHttpTransport } from "../src/index.js";
import { type SdkEndpoint, serveSdk } from "./sdk-endpoint.js";

const services = [
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
    },
  }),
];

const handlers = { Svc: { handlers: { echo: {}, steps: {} } } };

interface World extends AsyncDisposable {
  readonly partition: FakePartition;
  readonly invoker: Invoker;
}

function aWorld(endpoint: SdkEndpoint, given: Partial<TestDeployment> = {}, deps: Partial<InvokerDeps> = {}): World {
  const partition = new FakePartition({ clock: systemClock });
  const transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const registry = aRegistry({
    address: { kind: "http", uri: endpoint.uri, httpVersion: "HTTP/2.0" },
    services: handlers,
    ...given,
  });
  const invoker = createInvoker({
    host: partition,
    registry,
    transports: { http: transport },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...deps,
  });
  partition.attach(invoker);
  return {
    partition,
    invoker,
    async [Symbol.asyncDispose]() {
      await invoker[Symbol.asyncDispose]();
      await transport[Symbol.asyncDispose]();
    },
  };
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

describe("with the TypeScript SDK", () => {
  test("a handler over HTTP/2 prior knowledge answers with its result", async () => {
    await using endpoint = await serveSdk(services);
    await using world = aWorld(endpoint);
    const { facts } = world.partition.invoke(someFacts({ target: aTarget({ handler: "echo" }) }), json("hello"));
    expect(await world.partition.result(facts.id)).toEqual({ kind: "value", value: new Uint8Array(json("hello")) });
  });

  test("runs and sleeps are stored and told live on one stream", async () => {
    await using endpoint = await serveSdk(services);
    await using world = aWorld(endpoint);
    const invocation = world.partition.invoke(someFacts({ target: aTarget({ handler: "steps" }) }), json(null));
    expect(await world.partition.result(invocation.facts.id)).toEqual({ kind: "value", value: new Uint8Array(json(5)) });
    expect(invocation.run).toBe(1);
    expect(invocation.failures).toEqual([]);
  });
});
