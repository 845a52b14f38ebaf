/**
 * Rate-limited calls of an API: a virtual object per API gives out the times at which requests may be sent. Callers sleep until their time
 * without holding a process. Limits of concurrency need no code: see flow control (docs/flow-control.md).
 */
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

interface LimiterState {
  readonly [key: string]: unknown;
  /** Unix time in ms at which the next request may be sent. */
  readonly nextAtMs: number;
}

export const limiter = object({
  name: "Limiter",
  handlers: {
    /** Reserves a time for one request; returns it as Unix time in ms. Reserved times are at least `intervalMs` apart. */
    reserve: async (ctx: ObjectContext<LimiterState>, intervalMs: number): Promise<number> => {
      const atMs = Math.max(await ctx.date.now(), (await ctx.get("nextAtMs")) ?? 0);
      ctx.set("nextAtMs", atMs + intervalMs);
      return atMs;
    },
  },
});

const INTERVAL_MS = 50;
const Population = z.object({ population: z.number() });

export const cityLookup = service({
  name: "CityLookup",
  handlers: {
    population: async (ctx: Context, city: string): Promise<{ readonly population: number; readonly atMs: number }> => {
      const atMs = await ctx.objectClient(limiter, "cities-api").reserve(INTERVAL_MS);
      await ctx.sleep(Math.max(0, atMs - (await ctx.date.now())));
      const { population } = await ctx.run("look up", () => callOutside("cities/population", city, { city }, Population));
      return { population, atMs };
    },
  },
});
