/** Services that the suites of management commands deploy. */
import * as restate from "@restatedev/restate-sdk";

/** Number of failures and hangs that handlers still produce. */
export const remaining = { failures: 0, hangs: 1 };

export const testService = restate.service({
  name: "Desk",
  handlers: {
    /** `ms` of sleep between two steps. */
    work: async (ctx: restate.Context, ms: number) => {
      const first = await ctx.run("first", () => "done");
      await ctx.sleep(ms);
      return await ctx.run("second", () => ({ first }));
    },
    /** Fails while there are failures left. */
    flaky: async (ctx: restate.Context) => {
      await ctx.run("before", () => 1);
      if (remaining.failures-- > 0) throw new Error("not yet");
      return "at last";
    },
    refuse: async (_ctx: restate.Context, why: string) => {
      throw new restate.TerminalError(why, { errorCode: 418 });
    },
    /** Handler whose step never ends when it begins for the first time. */
    hang: async (ctx: restate.Context) =>
      await ctx.run("hang", async () => (remaining.hangs-- > 0 ? await new Promise<string>(() => undefined) : "free")),
    ask: async (ctx: restate.Context) => {
      const { id, promise } = ctx.awakeable<string>();
      await ctx.run("tell", () => id);
      return await promise;
    },
  },
});

export const cart = restate.object({
  name: "Cart",
  handlers: {
    add: async (ctx: restate.ObjectContext, amount: number) => {
      const sum = ((await ctx.get<number>("sum")) ?? 0) + amount;
      ctx.set("sum", sum);
      return sum;
    },
    hold: async (ctx: restate.ObjectContext, ms: number) => await ctx.sleep(ms),
  },
});

export const signup = restate.workflow({
  name: "Signup",
  handlers: {
    run: async (ctx: restate.WorkflowContext) => await ctx.promise<string>("confirmed"),
    confirm: async (ctx: restate.WorkflowSharedContext) => await ctx.promise<string>("confirmed").resolve("yes"),
  },
});
