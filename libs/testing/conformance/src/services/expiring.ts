/** Objects that write and read state, and hold it while they wait. */
import { handlers, type ObjectContext, type ObjectSharedContext, object } from "@restatedev/restate-sdk";

const read = async (ctx: ObjectSharedContext): Promise<Record<string, number>> => {
  const entries: Record<string, number> = {};
  for (const name of await ctx.stateKeys()) entries[name] = (await ctx.get<number>(name)) ?? 0;
  return entries;
};

export const sessionObject = object({
  name: "Session",
  handlers: {
    put: async (ctx: ObjectContext, entries: Record<string, number>) => {
      for (const [name, value] of Object.entries(entries)) ctx.set(name, value);
    },
    /** Reads the state, waits, and reads it again. */
    hold: async (ctx: ObjectContext, ms: number) => {
      const before = await read(ctx);
      await ctx.sleep(ms);
      return { before, after: await read(ctx) };
    },
    take: (ctx: ObjectContext) => read(ctx),
    peek: handlers.object.shared((ctx: ObjectSharedContext) => read(ctx)),
  },
});
