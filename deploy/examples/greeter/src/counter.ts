/** A virtual object: one value per key, changed by one caller at a time, kept for ever. */
import { handlers, type ObjectContext, type ObjectSharedContext, object } from "@restatedev/restate-sdk";

const COUNT = "count";

export const counter = object({
  name: "Counter",
  handlers: {
    /** `POST /Counter/{key}/add` with a number; answers the new count. */
    add: async (ctx: ObjectContext, amount: number): Promise<number> => {
      const count = ((await ctx.get<number>(COUNT)) ?? 0) + amount;
      ctx.set(COUNT, count);
      return count;
    },

    /** `POST /Counter/{key}/get`; shared: does not wait for `add`. */
    get: handlers.object.shared(async (ctx: ObjectSharedContext): Promise<number> => (await ctx.get<number>(COUNT)) ?? 0),

    /** `POST /Counter/{key}/reset` */
    reset: async (ctx: ObjectContext): Promise<void> => {
      ctx.clear(COUNT);
    },
  },
});
