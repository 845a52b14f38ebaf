/** Builds of one shop that differ like deployed versions. Every step counts how often it ran. */
import {
  type Context,
  handlers,
  type InvocationId,
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

/** The difference of a build from the first one. */
export type ShopChange =
  | "nothing"
  | "reordered"
  | "removed"
  | "renamed"
  | "added"
  | "otherOutput"
  | "withoutWait"
  | "optedOut"
  | "repaired"
  | "waitsEarlier";

const STEPS: Readonly<Partial<Record<ShopChange, readonly string[]>>> = {
  reordered: ["charge", "reserve"],
  removed: ["reserve"],
  renamed: ["reserve", "bill"],
  added: ["reserve", "charge", "notify"],
};

const TWICE = { retryPolicy: { maxAttempts: 2, onMaxAttempts: "pause", initialInterval: 5, maxInterval: 5 } } as const;

export function shopOf(name: string, change: ShopChange = "nothing") {
  const step = (ctx: Context, what: string) => ctx.run(what, () => probe.bump(`${name}:${what}`));
  const till = service({ name: `${name}Till`, handlers: { ring: async (_ctx: Context, amount: number) => amount * 2 } });
  const options = change === "optedOut" ? { metadata: { "perdure.replay-check": "off" } } : {};

  /** Runs state, steps, a sleep and a call to the end. */
  const order = handlers.object.exclusive(options, async (ctx: ObjectContext, amount: number) => {
    const orders = (await ctx.get<number>("orders")) ?? 0;
    ctx.set("orders", orders + 1);
    const steps = STEPS[change] ?? ["reserve", "charge"];
    await step(ctx, steps[0] ?? "");
    await ctx.sleep(1, "settle");
    const rung = await ctx.serviceClient(till).ring(amount);
    for (const what of steps.slice(1)) await step(ctx, what);
    return change === "otherOutput" ? { orders, total: rung } : { orders, rung };
  });

  /** Waits between two steps. */
  const wait = async (ctx: ObjectContext) => {
    if (change !== "reordered") await step(ctx, "before");
    const { id, promise } = ctx.awakeable<unknown>();
    probe.put(`wait:${name}:${ctx.key}`, id);
    const value = await promise;
    await step(ctx, change === "reordered" ? "before" : "after");
    return [value, change];
  };

  return [
    till,
    object({
      name,
      handlers: {
        order,
        ...(change === "withoutWait" ? {} : { wait }),
        /** Waits, does a step, and waits again. */
        nap: async (ctx: ObjectContext) => {
          const nap = ctx.sleep(FOREVER_MS, "nap");
          if (change === "waitsEarlier") await nap;
          await step(ctx, "first");
          await nap;
        },
        /** Pauses during a step. */
        stuck: handlers.object.exclusive(TWICE, async (ctx: ObjectContext) => {
          await step(ctx, "first");
          return ctx.run(change === "renamed" ? "another" : "second", () => {
            probe.bump(`${name}:second`);
            if (change !== "repaired") throw new Error("no stock");
            return change;
          });
        }),
        /** Pauses between two steps. */
        broken: handlers.object.exclusive(TWICE, async (ctx: ObjectContext) => {
          await step(ctx, change === "renamed" ? "other" : "first");
          if (change === "nothing") throw new Error("a broken build");
          await step(ctx, "third");
          return change;
        }),
        /** Stays within a step until the test releases it. */
        busy: async (ctx: ObjectContext) =>
          ctx.run("busy", async () => {
            probe.bump(`${name}:busy`);
            await new Promise<void>((resolve) => probe.put(`busy:${name}:${ctx.key}`, resolve));
            return change;
          }),
      },
    }),
  ];
}

type Next = (ctx: WorkflowContext, ran: () => void) => Promise<unknown>;
const GHOST = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx" as InvocationId;

/** Every command that a handler can do next, one handler each. */
export const NEXT_ACTIONS: Readonly<Record<string, Next>> = {
  get: (ctx) => ctx.get("k"),
  stateKeys: (ctx) => ctx.stateKeys(),
  sleep: (ctx) => ctx.sleep(1),
  call: (ctx) => ctx.genericCall({ service: "Nobody", method: "home", parameter: new Uint8Array() }),
  send: async (ctx) => ctx.genericSend({ service: "Nobody", method: "home", parameter: new Uint8Array() }),
  resolve: async (ctx) => ctx.resolveAwakeable("sign_1aaaa", 1),
  awakeable: (ctx) => ctx.awakeable().promise,
  promise: (ctx) => ctx.promise("p").get(),
  peek: (ctx) => ctx.promise("p").peek(),
  complete: (ctx) => ctx.promise("p").resolve(1),
  cancel: async (ctx) => ctx.cancel(GHOST),
  attach: (ctx) => ctx.attach(GHOST),
  step: (ctx, ran) => ctx.run("step", ran),
  steps: (ctx, ran) => RestatePromise.all([ctx.run("one", ran), ctx.run("two", ran)]),
  either: (ctx, ran) => RestatePromise.race([ctx.sleep(FOREVER_MS), ctx.run("one", ran)]),
  date: (ctx) => ctx.date.now(),
  fail: async () => {
    throw new TerminalError("no");
  },
  end: async () => 1,
};

/** Handlers of broken builds pause after their first step; those of sound ones continue with the command in their name. */
export function nextActionsOf(name: string, isBroken: boolean) {
  const entries = Object.entries(NEXT_ACTIONS).map(([action, act]) => [
    action,
    handlers.workflow.shared({ retryPolicy: { maxAttempts: 1, onMaxAttempts: "pause" } }, async (ctx) => {
      await ctx.run("first", () => undefined);
      if (isBroken) throw new Error("a broken build");
      return act(ctx as WorkflowContext, () => void probe.bump(`${name}:ran`));
    }),
  ]);
  return workflow({ name, handlers: { run: async () => undefined, ...Object.fromEntries(entries) } });
}
