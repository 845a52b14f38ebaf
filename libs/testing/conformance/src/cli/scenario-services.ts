/** The services of the recorded scenario: the same names, handlers, options and metadata, so that outputs can be compared. */
import {
  type Context,
  handlers,
  type ObjectContext,
  type ObjectSharedContext,
  object,
  rpc,
  type Serde,
  serde,
  service,
  TerminalError,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from "@restatedev/restate-sdk";
import { FOREVER_MS } from "../services/common.js";

const HOUR_MS = 3_600_000;
/** The next attempt after a failure is later than the end of the test. */
const HARDLY_EVER = { retryPolicy: { initialInterval: HOUR_MS, maxInterval: HOUR_MS, exponentiationFactor: 1 } };
const STAYS = { inactivityTimeout: FOREVER_MS };
const SUSPENDS = { inactivityTimeout: 100 };

interface CounterClient {
  add(ctx: ObjectContext, by: number): Promise<number>;
  hold(ctx: ObjectContext): Promise<unknown>;
}
interface GreeterClient {
  greet(ctx: Context, name: string): Promise<string>;
}
interface InternalClient {
  work(ctx: Context, what: string): Promise<string>;
}

/** JSON with a schema. */
function typedSerde<T>(jsonSchema: object): Serde<T> {
  return {
    contentType: "application/json",
    jsonSchema,
    serialize: (value) => serde.json.serialize(value),
    deserialize: (bytes) => serde.json.deserialize(bytes) as T,
  };
}

async function awaitAwakeable(ctx: Context | ObjectContext): Promise<unknown> {
  const { id, promise } = ctx.awakeable<unknown>();
  await ctx.run("log awakeable", () => id);
  return promise;
}

const failing = (message: string) => async (): Promise<void> => {
  throw new Error(message);
};

const greeterHandlers = (stage: string) => ({
  greet: handlers.handler(
    { description: "Says hello.", metadata: { kind: "demo", stage } },
    async (_ctx: Context, name: string) => `Hello ${name}`,
  ),
  typed: handlers.handler(
    {
      input: typedSerde<{ name: string; times?: number }>({
        type: "object",
        properties: { name: { type: "string", minLength: 1 }, times: { type: "integer" } },
        required: ["name"],
      }),
      output: typedSerde<{ message: string }>({
        type: "object",
        properties: { message: { type: "string" } },
        required: ["message"],
      }),
    },
    async (_ctx: Context, { name, times }: { name: string; times?: number }) => ({ message: `${name} x${times ?? 1}` }),
  ),
  fail: async () => {
    throw new TerminalError("teapot", { errorCode: 418, metadata: { a: "b" } });
  },
  failPlain: async () => {
    throw new TerminalError("plain failure");
  },
  retry: handlers.handler(HARDLY_EVER, failing("boom")),
  flakyRun: handlers.handler(HARDLY_EVER, async (ctx: Context) => {
    await ctx.run("first step", () => "ok");
    await ctx.run("flaky step", failing("flaky"));
  }),
  pausing: handlers.handler(
    { retryPolicy: { initialInterval: 10, maxAttempts: 2, onMaxAttempts: "pause" } },
    failing("pause me"),
  ),
  killing: handlers.handler({ retryPolicy: { initialInterval: 10, maxAttempts: 2, onMaxAttempts: "kill" } }, failing("kill me")),
  block: handlers.handler(STAYS, (ctx: Context) => awaitAwakeable(ctx)),
  suspend: handlers.handler(SUSPENDS, (ctx: Context) => awaitAwakeable(ctx)),
  sleepy: handlers.handler(SUSPENDS, async (ctx: Context) => ctx.sleep(HOUR_MS, "nap")),
  steps: async (ctx: Context, n: unknown) => {
    const a = await ctx.run("step a", () => ({ n }));
    await ctx.sleep(5);
    const c = await ctx.objectClient<CounterClient>({ name: "Counter" }, "steps").add(1);
    ctx.serviceSendClient<InternalClient>({ name: "Internal" }).work("bg");
    return { a, c };
  },
  parent: handlers.handler(SUSPENDS, async (ctx: Context, key: string) => {
    ctx.objectSendClient<CounterClient>({ name: "Counter" }, "sent").add(2);
    ctx.serviceSendClient<GreeterClient>({ name: "Greeter" }).greet("late", rpc.sendOpts({ delay: 6 * HOUR_MS }));
    return ctx.objectClient<CounterClient>({ name: "Counter" }, key).hold();
  }),
  priv: handlers.handler({ ingressPrivate: true }, async () => "private"),
  headers: async (ctx: Context) => Object.fromEntries(ctx.request().headers),
  nothing: async () => {},
  bin: handlers.handler({ input: serde.binary, output: serde.binary }, async (_ctx: Context, bytes: Uint8Array) => bytes),
  noInput: handlers.handler({ input: serde.empty }, async () => "no input"),
  any: handlers.handler(
    { accept: "*/*", input: serde.binary },
    async (_ctx: Context, bytes: Uint8Array) => `${bytes.length} bytes`,
  ),
  text: handlers.handler(
    { accept: "text/*", input: serde.binary, output: serde.binary },
    async (_ctx: Context, bytes: Uint8Array) => bytes,
  ),
  tuned: handlers.handler(
    {
      idempotencyRetention: 3 * HOUR_MS,
      journalRetention: 1.5 * HOUR_MS,
      inactivityTimeout: 30_000,
      abortTimeout: 1500,
      retryPolicy: {
        initialInterval: 200,
        maxInterval: 10_000,
        exponentiationFactor: 1.5,
        maxAttempts: 12,
        onMaxAttempts: "kill",
      },
    },
    async (_ctx: Context, value: unknown) => value,
  ),
});

const greeterFacts = (version: string) => ({
  description: `Greets people, ${version}.`,
  metadata: { team: "hello", version },
});

const counter = object({
  name: "Counter",
  description: "Counts per key.",
  metadata: { team: "count" },
  handlers: {
    add: handlers.object.exclusive({ description: "Adds to the counter." }, async (ctx: ObjectContext, by: number) => {
      const count = ((await ctx.get<number>("count")) ?? 0) + (by ?? 1);
      ctx.set("count", count);
      return count;
    }),
    setAll: async (ctx: ObjectContext, entries: Record<string, unknown>) => {
      for (const [key, value] of Object.entries(entries)) ctx.set(key, value);
    },
    setBin: async (ctx: ObjectContext) => ctx.set("raw", new Uint8Array([0, 255, 254, 65]), serde.binary),
    get: handlers.object.shared(async (ctx: ObjectSharedContext) => (await ctx.get<number>("count")) ?? 0),
    keys: handlers.object.shared(async (ctx: ObjectSharedContext) => ctx.stateKeys()),
    lazy: handlers.object.shared({ enableLazyState: true }, async (ctx: ObjectSharedContext) => ctx.get("count")),
    hold: handlers.object.exclusive(STAYS, (ctx: ObjectContext) => awaitAwakeable(ctx)),
    clear: async (ctx: ObjectContext) => ctx.clearAll(),
    key: handlers.object.shared(async (ctx: ObjectSharedContext) => ctx.key),
  },
});

const flow = workflow({
  name: "Wf",
  description: "A workflow.",
  handlers: {
    run: async (ctx: WorkflowContext, input: unknown) => {
      ctx.set("stage", "waiting");
      const value = await ctx.promise<unknown>("go");
      ctx.set("stage", "done");
      return `${input}:${value}`;
    },
    signal: handlers.workflow.shared(
      { description: "Lets the run continue." },
      async (ctx: WorkflowSharedContext, value: unknown) => ctx.promise<unknown>("go").resolve(value),
    ),
    fail: async (ctx: WorkflowSharedContext, reason: string) => ctx.promise<unknown>("go").reject(reason),
    peek: async (ctx: WorkflowSharedContext) => ({
      stage: await ctx.get("stage"),
      go: (await ctx.promise<unknown>("go").peek()) ?? null,
    }),
  },
  options: { workflowRetention: 48 * HOUR_MS, inactivityTimeout: 200 },
});

/** The SDK supports lazy state for plain services too, though its types do not have it. */
const everyOption = {
  idempotencyRetention: 26 * HOUR_MS,
  journalRetention: 12 * HOUR_MS,
  inactivityTimeout: 90_000,
  abortTimeout: 120_000,
  enableLazyState: true,
  retryPolicy: {
    initialInterval: 250,
    maxInterval: 30_000,
    exponentiationFactor: 3,
    maxAttempts: 7,
    onMaxAttempts: "kill" as const,
  },
};

const configured = service({
  name: "Configured",
  description: "All options set.",
  metadata: { owner: "ops" },
  handlers: { op: async (_ctx: Context, value: unknown) => value },
  options: everyOption,
});

const single = (name: string) => service({ name, handlers: { ping: async () => "pong" } });

export const firstServices = [
  service({ name: "Greeter", ...greeterFacts("v1"), handlers: greeterHandlers("v1") }),
  counter,
  flow,
  service({
    name: "Internal",
    handlers: { work: async (_ctx: Context, what: string) => `done ${what}` },
    options: { ingressPrivate: true },
  }),
  configured,
];
export const secondServices = [
  service({
    name: "Greeter",
    ...greeterFacts("v2"),
    handlers: { ...greeterHandlers("v2"), greet2: async (_ctx: Context, name: string) => `Hi ${name}` },
  }),
  counter,
];
/** `Counter` as a plain service. */
export const otherType = [service({ name: "Counter", handlers: { get: async () => 1 } })];
export const extraServices = [single("Extra")];
export const movableServices = [single("Movable")];
export const zombieServices = [
  service({ name: "Zomb", handlers: { wait: handlers.handler(SUSPENDS, async (ctx: Context) => ctx.sleep(24 * HOUR_MS)) } }),
];
