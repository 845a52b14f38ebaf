/** Handlers that stay in one status of an invocation for as long as a test needs. */
import { type Context, handlers, type ObjectContext, object, rpc, service, TerminalError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { FOREVER_MS, QUICK_RETRIES } from "./common.js";
import { mended } from "./failures.js";

/** Pause between two attempts of `backsOff`: long enough to act in between, short enough to wait for. */
export const BACK_OFF_MS = 3_000;

export const lifecycleService = service({
  name: "Life",
  handlers: {
    /** Handler that keeps its stream open and does not react to cancellation, until it is released. */
    busy: async (ctx: Context, name: string) =>
      ctx.run("busy", async () => {
        probe.bump(`busy:${name}`);
        await new Promise<void>((release) => probe.put(`releaseBusy:${name}`, release));
        return "done";
      }),
    /** Handler that keeps its stream open and would suspend on request. */
    waiting: async (ctx: Context, name: string) => {
      const { id, promise } = ctx.awakeable<unknown>();
      probe.put(`waiting:${name}`, id);
      probe.bump(`waitingAttempts:${name}`);
      return promise;
    },
    /** Waits and suspends at once. */
    suspended: handlers.handler({ inactivityTimeout: 1 }, async (ctx: Context, name: string) => {
      const { id, promise } = ctx.awakeable<unknown>();
      probe.put(`suspended:${name}`, id);
      probe.bump(`suspendedAttempts:${name}`);
      return promise;
    }),
    backsOff: handlers.handler(
      { retryPolicy: { initialInterval: BACK_OFF_MS, maxInterval: BACK_OFF_MS, exponentiationFactor: 1, maxAttempts: 1_000 } },
      async (ctx: Context, name: string) => {
        await ctx.run("step", () => probe.bump(`backsOffStep:${name}`));
        probe.push(`backsOff:${name}`, performance.now());
        // A handler gets its cancellation where it waits for something: from the second attempt on, here.
        if (probe.list(`backsOff:${name}`).length > 1) await ctx.sleep(1);
        if (probe.get(mended(name)) !== true) throw new Error("not fixed");
        return "mended";
      },
    ),
    quick: async (_ctx: Context, value: unknown) => value,
    fails: async () => {
      throw new TerminalError("as it must", { errorCode: 466 });
    },
    /** Two steps and a failure at the end, unless fixed, for restarts from the middle. */
    twoSteps: async (ctx: Context, name: string) => {
      const first = await ctx.run("first", () => probe.bump(`twoSteps1:${name}`));
      const second = await ctx.run("second", () => probe.bump(`twoSteps2:${name}`));
      if (probe.get(mended(name)) !== true) throw new TerminalError("not fixed");
      return [first, second];
    },
    /** Starts children of every kind: called, sent, and sent with a delay. */
    parent: async (ctx: Context, name: string) => {
      const called = ctx.serviceClient<WaitingHandlers>({ name: "Life" }).waiting(`${name} called`);
      const sent = ctx.serviceSendClient<WaitingHandlers>({ name: "Life" }).waiting(`${name} sent`);
      const later = ctx
        .serviceSendClient<WaitingHandlers>({ name: "Life" })
        .waiting(`${name} later`, rpc.sendOpts({ delay: FOREVER_MS }));
      probe.put(`children:${name}`, [await called.invocationId, await sent.invocationId, await later.invocationId]);
      return called;
    },
  },
  options: { retryPolicy: QUICK_RETRIES },
});

interface WaitingHandlers {
  waiting(ctx: Context, name: string): Promise<unknown>;
}

export const lifecycleObject = object({
  name: "Locked",
  handlers: {
    failing: handlers.object.exclusive(
      { retryPolicy: { maxAttempts: 1, onMaxAttempts: "pause" } },
      async (ctx: ObjectContext, name: string) => {
        probe.bump(`lockedFailing:${name}`);
        ctx.set("tried", true);
        if (probe.get(mended(name)) !== true) throw new Error("not fixed");
        return "mended";
      },
    ),
    next: async (_ctx: ObjectContext, value: unknown) => value,
  },
  options: { retryPolicy: QUICK_RETRIES },
});
