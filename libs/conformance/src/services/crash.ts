/** What crashes must not disturb: steps that keep their values, sums that count everything once, sleeps that end, calls that come back. */
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
  /** Sums that it adds one to: the first by a call in every step, the others by one send each. */
  readonly tallies: readonly string[];
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
    /** The values of its steps, in order. Every attempt notes what it saw of each. */
    work: async (ctx: Context, { name, steps, sleepMs, tallies }: CrashJob) => {
      const values: string[] = [];
      const [first, ...others] = tallies;
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
