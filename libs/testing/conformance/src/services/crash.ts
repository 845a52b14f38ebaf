/** Handlers whose results must survive crashes: steps keep their values, sums count everything once, sleeps end, calls return. */
import { setTimeout as delay } from "node:timers/promises";
import {
  type Context,
  handlers,
  type ObjectContext,
  type ObjectSharedContext,
  object,
  RestatePromise,
  service,
} from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";

export interface CrashJob {
  /** Unique. */
  readonly name: string;
  readonly steps: number;
  readonly sleepMs: number;
  /** Counters that it increments: the first by a call in every step, the others by one send each. */
  readonly counters: readonly string[];
}

export const counterObject = object({
  name: "Tally",
  handlers: {
    add: async (ctx: ObjectContext, by: number) => {
      const sum = (await ctx.get<number>("sum")) ?? 0;
      await ctx.run("think", () => delay(1));
      ctx.set("sum", sum + by);
      return sum + by;
    },
    sum: handlers.object.shared(async (ctx: ObjectSharedContext) => (await ctx.get<number>("sum")) ?? 0),
  },
  options: { retryPolicy: QUICK_RETRIES },
});

export const workService = service({
  name: "Work",
  handlers: {
    /** Returns the values of its steps, in order. Every attempt records the value that it got of each. */
    work: async (ctx: Context, { name, steps, sleepMs, counters }: CrashJob) => {
      const values: string[] = [];
      const [first, ...others] = counters;
      for (const key of others) ctx.objectSendClient(counterObject, key).add(1);
      for (let step = 0; step < steps; step++) {
        const value = await ctx.run(`step ${step}`, () => `${name}/${step}/${probe.bump(`ran:${name}/${step}`)}`);
        probe.push(`saw:${name}/${step}`, value);
        values.push(value);
        const pause = ctx.sleep(sleepMs);
        await RestatePromise.all(first === undefined ? [pause] : [pause, ctx.objectClient(counterObject, first).add(1)]);
      }
      return values;
    },
  },
  options: { retryPolicy: QUICK_RETRIES },
});
