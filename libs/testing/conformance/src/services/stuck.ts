/** Handlers that wait, each for another kind of event, until the test provides it. */
import { setTimeout as delay } from "node:timers/promises";
import {
  type Context,
  handlers,
  type ObjectContext,
  object,
  RestatePromise,
  service,
  TerminalError,
  type WorkflowContext,
  workflow,
} from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { FOREVER_MS } from "./common.js";

/** Suspends as soon as it waits. */
const SUSPENDING = { inactivityTimeout: 1 } as const;
/** Retries so late that an invocation stays between two attempts after one failure. */
const FAR_RETRIES = { initialInterval: FOREVER_MS, maxInterval: FOREVER_MS, exponentiationFactor: 1, maxAttempts: 5 } as const;

/** Name in the probe that releases a busy handler. */
export const letGo = (name: string) => `letGo:${name}`;

async function untilLetGo(name: string): Promise<void> {
  while (probe.get(letGo(name)) === undefined) await delay(5);
}

export const stuckService = service({
  name: "Stuck",
  handlers: {
    sleeps: async (ctx: Context) => ctx.sleep(FOREVER_MS, "a long nap"),
    awaits: async (ctx: Context, name: string) => {
      const { id, promise } = ctx.awakeable<unknown>();
      probe.put(`awaits:${name}`, id);
      return promise;
    },
    signalled: async (ctx: Context) => ctx.signal<unknown>("approval"),
    calls: async (ctx: Context, name: string) => ctx.serviceClient<Stuck>({ name: "Stuck" }).relays(name),
    relays: async (ctx: Context, name: string) => ctx.serviceClient<Stuck>({ name: "Stuck" }).awaits(name),
    all: async (ctx: Context) => RestatePromise.all([ctx.sleep(FOREVER_MS), ctx.signal<unknown>("approval")]),
    race: async (ctx: Context) => RestatePromise.race([ctx.sleep(FOREVER_MS, "deadline"), ctx.awakeable<unknown>().promise]),
    /** Keeps its stream open: it is busy with its own code. */
    works: async (ctx: Context, name: string) => ctx.run("grind", () => untilLetGo(name)),
    /** Keeps its stream open while it waits. */
    waitsAwake: handlers.handler({ inactivityTimeout: FOREVER_MS }, async (ctx: Context) => ctx.signal<unknown>("approval")),
    fails: handlers.handler({ retryPolicy: FAR_RETRIES }, async (ctx: Context) => {
      await ctx.run("prepare", () => "ready");
      throw new Error("the printer is on fire");
    }),
    pauses: handlers.handler({ retryPolicy: { maxAttempts: 1, onMaxAttempts: "pause" } }, async () => {
      throw new Error("no ink");
    }),
    refuses: async (): Promise<void> => {
      throw new TerminalError("never again", { errorCode: 466 });
    },
    quick: async (ctx: Context, value: unknown) => {
      await ctx.run("think", () => "thought");
      return value;
    },
  },
  options: SUSPENDING,
});

interface Stuck {
  relays(ctx: Context, name: string): Promise<unknown>;
  awaits(ctx: Context, name: string): Promise<unknown>;
}

interface Knot {
  tie(ctx: ObjectContext, path: readonly string[]): Promise<unknown>;
}

/** Each call calls the next key of the path, and holds the lock of its own key until that call returns. */
export const knotObject = object({
  name: "Knot",
  handlers: {
    tie: async (ctx: ObjectContext, [next, ...rest]: readonly string[]): Promise<unknown> =>
      next === undefined ? "untied" : ctx.objectClient<Knot>({ name: "Knot" }, next).tie(rest),
    hold: async (ctx: ObjectContext, name: string) => ctx.run("hold", () => untilLetGo(name)),
    next: async (_ctx: ObjectContext, value: unknown) => value,
  },
  options: SUSPENDING,
});

/** The same with streams that stay open. */
export const awakeKnotObject = object({
  name: "AwakeKnot",
  handlers: {
    tie: async (ctx: ObjectContext, [next, ...rest]: readonly string[]): Promise<unknown> =>
      next === undefined ? "untied" : ctx.objectClient<Knot>({ name: "AwakeKnot" }, next).tie(rest),
  },
});

export const promiseFlow = workflow({
  name: "Promised",
  handlers: { run: async (ctx: WorkflowContext) => ctx.promise<unknown>("paid").get() },
  options: SUSPENDING,
});
